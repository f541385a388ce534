"""Statistics of models: standard errors, tests on the same rows, and average ranks over data sets."""
