"""Pages: results as one self-contained HTML file."""
