"""The messages between the page and the console, as values. `tools/console_contract.py` writes the page's types from them."""
