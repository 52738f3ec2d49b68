"""The memory of a server that runs for months: rare collections, few arenas, and what is free goes back."""

import ctypes
import gc
import threading
import time

# Collections over ten thousand sockets' objects cost more than the sockets' work; bodies never pass through Django.
GC_THRESHOLDS = (50_000, 50, 100)
ARENAS = 2
"""Of the C library. It makes up to eight for each core, one for each thread that meets another, and keeps what each
needed at most; numbers above that bring nothing where one thread runs Python at a time."""
M_ARENA_MAX = -8
"""Its name in glibc's <malloc.h>."""
GIVE_BACK_EVERY_S = 60.0


def bound_arenas() -> None:
    """Before the first thread starts (glibc; elsewhere nothing happens)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)


def settle() -> None:
    """Leave what is loaded by now out of collections, make them rare, and give free memory back from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    threading.Thread(target=_give_back_for_ever, name="memory", daemon=True).start()


def give_back() -> None:
    """Collect what has become garbage among objects that are old, and give free memory back to the system.

    Requests that fail leave cycles of exceptions and frames; those that a collection meets alive count as old, which
    the thresholds hardly ever look at. Where none was met since the last time, nothing is collected.
    """
    if any(gc.get_count()[1:]):
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc's; by itself it returns only what is free at the end of its heap
        trim(0)


def _give_back_for_ever() -> None:
    while True:
        time.sleep(GIVE_BACK_EVERY_S)
        give_back()
