"""The owner's page for his phone: on the local network, over TLS, to phones that were let in by a link (ADR 127)."""
