"""Structural schemas of CRDs: validation, pruning and defaulting of values, once for the API server and for `validate`. Pure."""
