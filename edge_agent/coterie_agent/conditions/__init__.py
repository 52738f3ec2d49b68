"""What is true on this device now: one probe a module; a probe that cannot tell leaves its answer "unknown"."""
