"""The objects that the pods of this node refer to, read from the API server: ConfigMaps, Secrets, tokens."""
