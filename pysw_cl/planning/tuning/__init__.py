"""The search for the fastest parameters; it knows no device."""
