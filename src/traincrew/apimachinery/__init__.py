"""What every Kubernetes program shares, once: quantities, times, selectors, API errors, Go formats, patches. Pure."""
