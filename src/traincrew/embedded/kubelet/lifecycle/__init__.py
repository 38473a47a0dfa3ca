"""What a kubelet thinks about one pod: pure decisions over what is known of its processes."""

from traincrew.embedded.kubelet.lifecycle.next_steps import next_steps

__all__ = ["next_steps"]
