"""The prediction service: one model for all programs on this device, replaced while it serves."""
