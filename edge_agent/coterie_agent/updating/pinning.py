"""The keys of releases: pinned when the device joins, or named by its owner; nothing else changes which they are."""

import shutil

from coterie_agent.home import Home, write_private


def pin_update_root(home: Home, root: bytes | None) -> None:
    """Trust the releases that `root` (TUF metadata) leads to; None: those of nobody. Raises OSError."""
    shutil.rmtree(home.updates, ignore_errors=True)  # what former keys have signed
    if root is None:
        home.update_root.unlink(missing_ok=True)
    else:
        write_private(home.update_root, root)
