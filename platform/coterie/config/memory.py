"""Memory settings of a server that runs for months: rare collections, few arenas, and free memory is returned."""

import ctypes
import gc
import threading
import time

# Collections over ten thousand sockets' objects cost more than the sockets' work; bodies never pass through Django.
GC_THRESHOLDS = (50_000, 50, 100)
ARENAS = 2
"""Of the C library. It creates up to eight per core, one for each of several concurrent threads, and each keeps its
peak size; more arenas bring nothing where one thread runs Python at a time.
"""
M_ARENA_MAX = -8
"""Its name in glibc's <malloc.h>."""
GIVE_BACK_EVERY_S = 60.0


def bound_arenas() -> None:
    """Call before the first thread starts (glibc; otherwise does nothing)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)


def settle() -> None:
    """Exclude loaded objects from collections, make collections rare, and return free memory regularly from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    threading.Thread(target=_give_back_for_ever, name="memory", daemon=True).start()


def give_back() -> None:
    """Collect old garbage, and return free memory to the system.

    Requests that fail leave cycles of exceptions and frames; those that survive a collection become old, and the
    thresholds hardly ever collect old objects. Where there were none since the last time, nothing is collected.
    """
    if any(gc.get_count()[1:]):
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc's; by default it returns only what is free at the end of its heap
        trim(0)


def _give_back_for_ever() -> None:
    while True:
        time.sleep(GIVE_BACK_EVERY_S)
        give_back()
