"""Kernels as plain Python, compiled, and both at once."""
