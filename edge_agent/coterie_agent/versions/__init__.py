"""Agents installed side by side: which of them runs, and how one takes the place of another."""
