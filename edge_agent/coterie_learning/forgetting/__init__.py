"""Slot `forgetting`: what happens to versions that contain updates of a forgotten device? One module a kind."""

from typing import ClassVar

from coterie_learning.kinds import Kind


class Forgetting(Kind, frozen=True):
    """How versions are unlearned; the device's updates, figures and names are deleted under every kind."""

    since: ClassVar[str] = "0.2"
    rebuilds: ClassVar[bool] = False
    """Whether versions that contain the device are replaced by one that does not."""

    def kept_days(self) -> int | None:
        """Days for which updates are stored after their round, so that its merge can be repeated without one of them.

        None: merges are not repeated.
        """
        return None
