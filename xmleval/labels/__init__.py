"""What is given by label: inverse propensities, groups and the hierarchy."""
