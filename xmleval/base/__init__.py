"""What every room may use: errors, notes, numbers in text, conventions, memory and threads, array types."""
