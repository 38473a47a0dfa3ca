"""The operator: observes jobs, computes plans with the planner and executes them. It makes no decisions."""
