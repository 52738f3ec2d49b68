"""Deferred jobs of simulation runs."""

from coterie.core.jobs import Job

PERFORM = Job("coterie.simulation_runs.tasks.perform")
"""Perform waiting runs, one after the other, until there are none."""
