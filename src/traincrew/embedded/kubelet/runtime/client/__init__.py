"""The kubelet's side of the runtime: clients of shims and of the template process."""
