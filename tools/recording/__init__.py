"""The recording of the first five minutes, docs/first-steps.svg: captured from a real terminal, drawn from the capture."""
