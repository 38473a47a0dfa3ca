"""The command line: `commands` has a file for each verb, the other packages do the work."""
