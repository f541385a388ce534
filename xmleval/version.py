"""The versions, written once."""

__version__ = "0.1.0"
# version of results in JSON, see `results/schema.json`; it grows only if older readers would fail
SCHEMA = 3
