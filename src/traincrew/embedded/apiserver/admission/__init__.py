"""Admission: the chain, and one module for each plugin, named as in kube-apiserver."""
