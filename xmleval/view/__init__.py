"""Views of one block of rows, from which states and measures read facts."""
