"""Files: inputs are not trusted, and outputs appear when they are complete."""
