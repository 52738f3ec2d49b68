"""Slot `forgetting`: what becomes of versions that hold updates of a device that is forgotten? One module a kind."""

from typing import ClassVar

from coterie_learning.kinds import Kind


class Forgetting(Kind, frozen=True):
    """What is promised of versions; updates, figures and names of the device are removed whatever the kind."""

    since: ClassVar[str] = "0.2"
    rebuilds: ClassVar[bool] = False
    """Whether another version, which holds nothing of the device, takes the place of those that do."""

    def kept_days(self) -> int | None:
        """Days for which updates are kept after their round, so that its merge can be repeated without one of them.

        None: merges are not repeated.
        """
        return None
