"""Disruption budgets: how many of their pods may go just now."""
