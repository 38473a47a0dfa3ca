"""HorizontalPodAutoscalers of autoscaling/v2."""
