//go:build programs

// Package clients names the program that is built from this module, so that
// go.mod and go.sum hold everything it needs.
package clients

import _ "helm.sh/helm/v3/cmd/helm"
