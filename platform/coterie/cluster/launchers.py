"""Who may start the workers of a training that a host leads."""

from typing import Literal, get_args

LauncherName = Literal["here", "kubernetes", "slurm"]
"""The host itself, with others of the cluster; or another scheduler."""
LAUNCHERS: tuple[LauncherName, ...] = get_args(LauncherName)

HERE = "here"
"""A host that starts workers itself."""
