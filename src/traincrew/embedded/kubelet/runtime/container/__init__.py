"""A container's init process and its command."""
