"""Samples from files and programs: every row is checked, and a file is stored completely or not at all."""
