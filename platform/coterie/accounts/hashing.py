"""Checks one password at a time, behind everything else that the processor has to do.

A check takes a third of a second of a core, which is what makes guessing slow. Without this, those who guess from many
addresses would take that from rounds and devices; with it, what they take is time in which nobody else wants a core.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth.hashers import PBKDF2PasswordHasher

NICENESS = 10
"""A tenth of a core where all are busy."""


class PatientHasher(PBKDF2PasswordHasher):
    """Django's own, in a thread of its own."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """The hash, as Django keeps it."""
        return _THREAD.submit(super().encode, password, salt, iterations).result()


def _step_back() -> None:
    if sys.platform == "linux":  # elsewhere processes have priorities, and threads none
        own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), own + NICENESS)


_THREAD = ThreadPoolExecutor(1, thread_name_prefix="passwords", initializer=_step_back)
