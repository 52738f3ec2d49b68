"""Recipes run: their federations on this machine, beside what they are compared with; and their files, written out."""
