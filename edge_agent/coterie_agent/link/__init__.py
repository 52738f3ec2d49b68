"""The connection to the platform: HTTPS for everything, a socket for control, one rule for what to retry."""
