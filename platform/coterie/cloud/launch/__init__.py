"""Gangs whose workers another scheduler places: Kubernetes, SLURM. They share a directory with the platform.

The platform writes the training's instructions into it and polls for what workers write. It needs the scheduler's own
command, ``kubectl`` or ``sbatch``, and no library.
"""
