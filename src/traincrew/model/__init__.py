"""Kubernetes objects as plain values. Pure: nothing here knows a clock, a file, a network or a job kind.

Structs hold only the fields that some decision reads; everything else of an object is dropped while decoding.
"""
