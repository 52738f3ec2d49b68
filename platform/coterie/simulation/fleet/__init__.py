"""Simulation of large fleets: devices are columns, and many small models are trained in one batched step."""
