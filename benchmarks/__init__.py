"""Benchmarks: generated workloads, comparison with other libraries, and fault injection."""
