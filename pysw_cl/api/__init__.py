"""What users call: options are checked here."""
