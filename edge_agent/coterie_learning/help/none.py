"""No help between devices: each has the federation's model and its own training."""

from coterie_learning.help import Help


class NoHelp(Help, frozen=True, tag="none"):
    """Devices do not ask for help."""
