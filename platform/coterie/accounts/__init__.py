"""Operators, their API tokens and how they sign in."""
