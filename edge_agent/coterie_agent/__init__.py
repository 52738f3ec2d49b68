"""The device side of Coterie: trains on the device's own data, and only when its owner's conditions hold."""

VERSION = "0.2.0"
"""What the device reports as its agent; equals the wheel's version."""
