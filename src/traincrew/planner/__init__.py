"""The decisions about a job, as pure functions: `plan.plan(kind, job, observed, now)` returns a `Plan` of actions.

The package imports none of its modules: the verbs of the CLI need few of them.
"""
