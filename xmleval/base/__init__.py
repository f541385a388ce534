"""Modules for all others: errors, notes, conventions, numbers in text, memory, threads, arrays."""
