"""Validation of jobs: from the text of a manifest to an accepted job, or to findings with their paths and lines. Pure.

`crds` derives the CRDs from the kinds, by which an API server validates jobs. `job_review` validates them in the same way
without a cluster, for the CLI. `manifest_review` parses YAML and JSON and reports the line of every finding.
"""
