"""Comparisons of models: on the same rows, and over data sets."""
