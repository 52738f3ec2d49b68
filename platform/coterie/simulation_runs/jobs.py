"""What simulation runs ask to be done later."""

from coterie.core.jobs import Job

PERFORM = Job("coterie.simulation_runs.tasks.perform")
"""Perform runs that wait, one after the other, until none does."""
