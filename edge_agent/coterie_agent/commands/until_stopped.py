"""Logging and signal handling of the commands that run until SIGTERM, Ctrl-C, or the end of their terminal."""

import logging
import signal
import threading
import time
from collections.abc import Callable

import msgspec

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class LogLine(msgspec.Struct, frozen=True):
    at: str
    level: str
    message: str


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(record.created))
        return msgspec.json.encode(LogLine(at, record.levelname.lower(), record.getMessage())).decode()


def stop_on_signal(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM, Ctrl-C or SIGHUP, but for those that the process was started to ignore (``nohup``).

    A thread waits for the signals, so that no handler interrupts a lock or a transaction.
    """
    awaited = [one for one in _SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)

    def wait() -> None:
        signal.sigwait(awaited)
        stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()


def log_to_stderr(*, as_json: bool) -> None:
    """One line an event, or one JSON object."""
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S")
    handler.setFormatter(JsonFormatter() if as_json else plain)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
