"""One file a format, or for formats that are read alike."""
