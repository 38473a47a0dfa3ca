"""The cluster on one machine: API server, controllers, scheduler and kubelet in one process."""
