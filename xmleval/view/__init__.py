"""What states read of one block."""
