"""The shell of the planner: it observes, asks for a plan and carries it out. It decides nothing by itself."""
