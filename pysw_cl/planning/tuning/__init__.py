"""The search for the fastest parameters (:mod:`.search`); it knows no device."""
