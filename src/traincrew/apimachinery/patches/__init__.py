"""Patches of decoded objects: JSON patch, merge patch, strategic merge patch, server-side apply."""
