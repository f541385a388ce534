"""Reports, comparisons, differences and rankings, made of the results of states."""
