"""Checks that this process sees the platform's files: the directory of a share that is not mounted is an empty one."""

import sys

from django.conf import settings

from coterie.registry.verifying import is_elsewhere


def exit_unless_files_are_here() -> None:
    """End this process with a sentence where its state directory is not the platform's, whose files would be taken for
    lost, and new ones be kept where nobody looks for them."""
    if is_elsewhere():
        sys.exit(
            f"the state directory {settings.STATE} has none of the platform's files: mount the shared directory, or "
            "correct COTERIE_STATE; where they are lost, `coterie scrub` takes them from COTERIE_COPIES or notes it"
        )
