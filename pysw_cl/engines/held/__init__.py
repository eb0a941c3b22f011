"""Small matrices that are held whole on the device."""
