"""A fleet that looks like a real one, for looking at the console: rows as weeks of use would leave them."""
