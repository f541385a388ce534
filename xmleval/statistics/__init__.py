"""Statistics of models: standard errors, tests on paired rows, and ranks over data sets."""
