"""Nodes that are lost: their conditions and taints, the eviction of their pods, and pods without a node.

The controllers do what kube-controller-manager's node lifecycle, taint eviction and pod garbage collector controllers do.
"""
