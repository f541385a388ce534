"""Evaluation inside other libraries: one module per library, which no other module imports."""
