"""The cluster on this machine, as the verbs `up`, `down`, `status` and `image` manage it."""
