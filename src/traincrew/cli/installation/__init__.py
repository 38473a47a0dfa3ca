"""The operators that are installed on a cluster, and the migration from one to the other."""
