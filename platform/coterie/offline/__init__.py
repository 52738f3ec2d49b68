"""A pre-flight without a platform: `coterie compile`, and what the SDK checks before it publishes."""
