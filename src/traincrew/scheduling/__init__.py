"""Which pod goes to which node: pure decisions over what the API holds."""
