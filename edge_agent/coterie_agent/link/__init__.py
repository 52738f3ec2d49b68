"""The way to the platform: HTTPS for everything, a socket for control, one judgement of what to repeat."""
