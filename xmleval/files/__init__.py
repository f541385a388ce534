"""Files that are read without trust and written whole or not at all."""
