"""The decisions of the scheduler: filters, scores, preemption and gangs. Pure."""
