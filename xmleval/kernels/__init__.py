"""Serial kernels: arrays in, arrays out. Numba is imported nowhere else."""
