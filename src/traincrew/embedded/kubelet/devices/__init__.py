"""Devices of this machine: which there are, and which pod has which."""
