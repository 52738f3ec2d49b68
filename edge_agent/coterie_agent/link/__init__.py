"""The connection to the platform: HTTPS for all requests, a socket for control, one rule for what to retry."""
