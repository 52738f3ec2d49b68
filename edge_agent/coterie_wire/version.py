"""The version of the protocol; each side refuses versions that it does not speak, with an error code."""

PROTOCOL = 1
"""Raised by one whenever an older agent could misread a message; the platform also speaks PROTOCOL - 1."""

SPOKEN = range(max(1, PROTOCOL - 1), PROTOCOL + 1)
"""The versions that this side understands."""

PRESIGNED = "presigned"
"""The preference (RFC 7240) with which an agent states that it follows redirects of downloads to an object storage."""
