"""Jobs out of a command line. Pure."""
