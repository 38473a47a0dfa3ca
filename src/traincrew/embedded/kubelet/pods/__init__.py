"""The node agent: a client of the Kubernetes API that runs the pods of its node as processes of this machine."""
