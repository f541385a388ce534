"""Whatever the caller has becomes checked blocks, or one clear error."""
