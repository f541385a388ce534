"""Objects in memory: frames, and dicts and lists of names, as matrices and lists of numbers."""
