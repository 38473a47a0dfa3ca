"""Strategies of the kinds of networking.k8s.io."""
