"""From settings and input to results: the plan, the counting, the values."""
