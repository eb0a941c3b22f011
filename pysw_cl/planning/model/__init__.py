"""The run-time model: counts of what a run does, times a profile's times."""
