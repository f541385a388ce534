"""The versions, written once."""

__version__ = "0.1.0"
SCHEMA = 2  # of results in JSON, see `results/schema.json`; it grows only where older readers would go wrong
