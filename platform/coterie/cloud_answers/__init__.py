"""Answers for devices whose own model cannot answer: few devices use them, requests are rate-limited, and no
samples are stored.
"""
