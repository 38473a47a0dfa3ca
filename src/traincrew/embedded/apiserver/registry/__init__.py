"""The resources that are served, built-in and custom, with the strategy of each."""
