"""The platform's half of slot `help`: who can help whom. Pure."""
