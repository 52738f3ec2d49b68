"""Gangs whose workers another scheduler places: Kubernetes, SLURM. They share a directory with the platform.

The platform writes what is to be trained into it and follows what workers write. It needs the scheduler's own command,
``kubectl`` or ``sbatch``, and no library.
"""
