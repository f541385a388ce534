"""Figures of reports, comparisons and rankings: their numbers, and how matplotlib draws them."""
