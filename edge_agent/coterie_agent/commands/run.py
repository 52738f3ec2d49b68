"""``coterie-agent run``: train when the owner's conditions hold, until SIGTERM or Ctrl-C."""

import faulthandler
import logging
import os
import signal
import sys
import threading
import time

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.conditions.reader import conditions_reader
from coterie_agent.config import load_config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, RunLock
from coterie_agent.runner import Runner
from coterie_agent.situation import Situation
from coterie_agent.store.opened import open_store

log = logging.getLogger(__name__)
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class LogLine(msgspec.Struct, frozen=True):
    at: str
    level: str
    message: str


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(record.created))
        return msgspec.json.encode(LogLine(at, record.levelname.lower(), record.getMessage())).decode()


def run(arguments: Arguments) -> Output:
    """Ends the process itself: threads may be left behind in native code that waits for the network.

    Raises AgentError ``agent.not_joined``, ``agent.already_running`` or ``config.invalid`` before anything runs.
    """
    faulthandler.enable()  # prints the stack when native code ends the process
    home = Home(arguments.home)
    config = load_config(home.config)
    override = home.root / config.conditions_file if config.conditions_file else None
    _log_to_stderr(as_json=arguments.json)
    situation = Situation()
    with open_store(home) as store:
        store.identity.get()
        RunLock(home).acquire()
        _stop_on_signal(situation)
        runner = Runner(
            home=home,
            config=config,
            store=store,
            read_conditions=conditions_reader(override),
            situation=situation,
        )
        exit_code = _run(runner)
    logging.shutdown()
    sys.stderr.flush()
    os._exit(exit_code)


def _run(runner: Runner) -> Exit:
    try:
        runner.run()
    except AgentError as error:
        log.error("%s [%s]", error.detail, error.code)
        return error.exit_code
    log.info("stopped")
    return Exit.OK


def _stop_on_signal(situation: Situation) -> None:
    """A thread waits for the signals, so that no handler interrupts a lock or a transaction."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def wait() -> None:
        signal.sigwait(_SIGNALS)
        situation.stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()


def _log_to_stderr(*, as_json: bool) -> None:
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S")
    handler.setFormatter(JsonFormatter() if as_json else plain)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
