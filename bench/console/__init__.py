"""How fast the page of the console is, and what it costs."""
