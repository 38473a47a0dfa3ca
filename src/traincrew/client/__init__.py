"""The Kubernetes client: connection, verbs, informers, work queue, event recorder and leader election."""
