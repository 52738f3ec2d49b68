"""The trusted keys of releases: pinned when the device joins, or set by its owner, and never changed otherwise."""

import shutil

from coterie_agent.home import Home, write_private


def pin_update_root(home: Home, root: bytes | None) -> None:
    """Trust releases signed under `root` (TUF metadata); None: trust none. Raises OSError."""
    shutil.rmtree(home.updates, ignore_errors=True)  # files signed by former keys
    if root is None:
        home.update_root.unlink(missing_ok=True)
    else:
        write_private(home.update_root, root)
