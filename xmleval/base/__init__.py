"""Modules that all others may use: errors, notes, numbers in text, memory, threads, arrays."""
