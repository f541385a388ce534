"""Evaluation inside other libraries: one module for each, which imports its library and no other does."""
