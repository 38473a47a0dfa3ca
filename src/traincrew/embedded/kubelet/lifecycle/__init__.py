"""Decides what the kubelet does next for one pod. Pure: the pod, its observed state and the time are arguments."""

from traincrew.embedded.kubelet.lifecycle.next_steps import next_steps

__all__ = ["next_steps"]
