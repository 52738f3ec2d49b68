"""Threads of which none may end alone: with a part of its threads a process would only seem to run."""

import logging
import threading
from collections.abc import Callable

from coterie_agent.errors import AgentError

log = logging.getLogger(__name__)


def start_guarded(
    name: str,
    run: Callable[[], None],
    *,
    is_stopping: Callable[[], bool],
    end: Callable[[AgentError], None],
    explain: Callable[[OSError], AgentError | None] = lambda _error: None,
) -> threading.Thread:
    """Start `run` in a thread; if it fails while nothing `is_stopping`, `end` is called with what it failed with.

    `explain` says what an error of the operating system means, where it can.
    """

    def guarded() -> None:
        try:
            run()
        except Exception as error:  # the outermost loop of each thread
            explained = explain(error) if isinstance(error, OSError) else None
            if not is_stopping() and explained is not None:
                end(explained)
            elif not is_stopping():
                log.exception("thread %s failed", name)
                failure = AgentError("agent.failed", f"{type(error).__name__}: {error}")
                end(error if isinstance(error, AgentError) else failure)

    thread = threading.Thread(target=guarded, name=name, daemon=True)
    thread.start()
    return thread
