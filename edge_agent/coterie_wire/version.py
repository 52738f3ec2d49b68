"""The version of the protocol; both sides refuse what they do not speak, with a code."""

PROTOCOL = 1
"""Raised by one whenever an older agent could misread a message; the platform also speaks PROTOCOL - 1."""

SPOKEN = range(max(1, PROTOCOL - 1), PROTOCOL + 1)
"""The versions that this side understands."""

PRESIGNED = "presigned"
"""The preference (RFC 7240) of an agent that goes on to the object storage where a download is redirected to it."""
