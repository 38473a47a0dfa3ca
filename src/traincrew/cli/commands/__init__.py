"""One file for each verb: options, help, and one call."""
