"""The columns and cells of the built-in kinds, one file per family."""
