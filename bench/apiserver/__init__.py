"""The embedded API server next to a real kube-apiserver and etcd, both with fsync on the same disk, with the same client."""
