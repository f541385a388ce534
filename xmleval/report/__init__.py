"""Reports: values with their conventions, in every printed form."""
