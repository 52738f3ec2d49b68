"""Secure sums: the platform between the devices of a cohort whose updates it learns the sum of, and nothing else."""
