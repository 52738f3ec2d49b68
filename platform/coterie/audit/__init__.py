"""Who did what: every write of an operator, an API token or the platform in their name, append-only."""
