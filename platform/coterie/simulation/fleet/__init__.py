"""Rounds of a plan on whole fleets: devices are columns, and many small models are trained in one step."""
