"""What the verbs do with jobs: submit, wait, print logs, exec, delete, scale, suspend."""
