"""The prediction service: one model for all programs on this device, exchanged while it answers."""
