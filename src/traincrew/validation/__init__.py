"""From text to an accepted job, or every fault with its path and line. Pure.

`schema` derives the CRDs from the kinds, so that a real API server gives the verdicts; `admit` gives the same verdicts in
Python, for the command line and the embedded API server; `manifests` reads YAML and JSON and knows the line of every path.
"""
