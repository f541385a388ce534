"""Readers and writers of file formats: one module per format, or per group of similar formats."""
