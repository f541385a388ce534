"""Workloads, one table of cases, and runners that time it beside other libraries."""
