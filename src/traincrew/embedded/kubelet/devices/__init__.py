"""Devices of this machine and their allocation to pods."""
