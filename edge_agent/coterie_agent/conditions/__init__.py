"""The device's current conditions: one probe a module; a probe that cannot determine one returns "unknown"."""
