"""Reports: values with the conventions they were computed under, in every printed form."""
