"""A server forgets what it no longer needs, though it collects rarely."""

import gc
import weakref

from coterie.config.memory import give_back


class Circular:
    """Only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_what_has_become_garbage_in_old_age_goes() -> None:
    gc.collect()
    circular = Circular()
    seen = weakref.ref(circular)
    gc.collect(0)  # meets it alive: from now on it is old
    del circular
    gc.collect(0)
    assert seen() is not None
    give_back()
    assert seen() is None
