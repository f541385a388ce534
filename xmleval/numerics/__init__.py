"""Exact sums, discounts by rank and differences up to rounding."""
