"""Samples from files and programs: every row is checked, and a file is stored whole or not at all."""
