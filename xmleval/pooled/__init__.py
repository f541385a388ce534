"""Scores pooled over rows, for curves of all entries and of each label."""
