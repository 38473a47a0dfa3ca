"""The shim, one process a pod: it outlives the daemon."""
