"""Who asks, and what they may: certificates, tokens, authentication, RBAC, access reviews, the kubeconfig file."""
