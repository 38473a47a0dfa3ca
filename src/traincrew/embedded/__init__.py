"""The cluster on one machine: a store, the Kubernetes API on top of it, and what keeps its promises."""
