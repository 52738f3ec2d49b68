"""What rounds ask to be done later."""

from coterie.federations.jobs import ADVANCE

__all__ = ["ADVANCE"]
