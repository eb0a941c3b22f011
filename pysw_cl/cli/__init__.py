"""The command pysw-cl."""
