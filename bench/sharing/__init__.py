"""Days of a shared cluster, replayed through the real decision about elastic jobs, next to rigid jobs. Virtual time."""
