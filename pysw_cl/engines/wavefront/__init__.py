"""The wavefront on one OpenCL device."""
