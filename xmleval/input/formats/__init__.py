"""One file a format, and the registry that chooses among them."""
