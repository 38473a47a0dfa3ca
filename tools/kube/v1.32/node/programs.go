//go:build programs

// Package node names the programs of a node that are built from this module, so that go.mod and go.sum hold everything they need.
// It is a module of its own, so that the other programs need not be built again when it changes.
package node

import (
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
