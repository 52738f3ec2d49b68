"""What is true on this device now: one probe a module; a probe that cannot determine a condition returns "unknown"."""
