"""Serial kernels: arrays in, arrays out. Numba is imported by `compiling` alone."""

import math

from xmleval.base.address_space import limit_of_address_space, refuse_little_address_space
from xmleval.base.work import WORK

refuse_little_address_space()  # before Numba, which ends the process where it finds no memory
# load it while this is the only thread: later it may find no end
if limit_of_address_space() < math.inf:
    WORK.is_small = False
    from xmleval.kernels import compiling as compiling
