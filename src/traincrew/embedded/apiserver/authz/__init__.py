"""Authorization: RBAC, its bootstrap policy, access reviews."""
