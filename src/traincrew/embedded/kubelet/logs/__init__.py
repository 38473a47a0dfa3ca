"""Logs of containers as they lie on the disk, pods that are gone included: `cri` knows a line, `cursor` a log that is rotated
while it is read, `files` what was asked for of it, `shelf` which logs there are.
"""
