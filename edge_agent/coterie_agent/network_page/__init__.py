"""The owner's page for phones: on the local network, over TLS, for phones signed in by a link (ADR 127)."""
