"""Container logs on the disk, including those of deleted pods."""
