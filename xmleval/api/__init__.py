"""The public functions: `evaluate`, and one for each common measure."""
