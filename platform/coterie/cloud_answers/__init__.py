"""Answers for devices whose own model does not answer: asked by few, rate-limited, and nothing of them is kept."""
