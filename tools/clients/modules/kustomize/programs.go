//go:build programs

// Package clients names the program that is built from this module, so that
// go.mod and go.sum hold everything it needs.
package clients

import _ "sigs.k8s.io/kustomize/kustomize/v5"
