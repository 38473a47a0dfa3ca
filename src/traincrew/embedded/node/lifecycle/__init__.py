"""What a kubelet thinks about one pod: pure decisions over what is known of its processes."""
