"""Drivers: whole comparisons as sweeps over an abstract engine.  No driver knows OpenCL."""
