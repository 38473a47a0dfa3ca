"""Claims and the volumes that they are bound to."""
