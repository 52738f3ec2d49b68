"""No canary group: a published version is the champion, and every device gets it."""

from coterie_learning.rollout import Rollout


class AtOnce(Rollout, frozen=True, tag="at_once"):
    """Every device gets a new version as soon as it is published."""
