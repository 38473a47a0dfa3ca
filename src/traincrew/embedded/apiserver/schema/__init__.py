"""Schemas of built-in kinds and custom resources: decoding, pruning, defaulting, validation, CEL rules."""
