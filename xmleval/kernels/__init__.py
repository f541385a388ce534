"""Serial kernels: arrays in, arrays out. Numba is imported nowhere else."""

from xmleval.base.address_space import refuse_little_address_space

refuse_little_address_space()  # before Numba, which ends the process where it finds no memory
