"""The SSCA#1 benchmark: kernels 1 to 5 over the functions of this library."""

from .benchmark import Run as Run, run as run
