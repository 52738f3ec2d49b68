"""``coterie-agent run``: train when the owner's conditions hold, until SIGTERM or Ctrl-C."""

import faulthandler
import logging
import os
import sys
from datetime import date
from typing import NoReturn

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.until_stopped import log_to_stderr, stop_on_signal
from coterie_agent.conditions.reader import conditions_reader
from coterie_agent.config import Config, load_config
from coterie_agent.device_log.keeping import delete_log, keep_log
from coterie_agent.errors import AgentError, Exit
from coterie_agent.forgetting import Forgetter, load_receipt
from coterie_agent.home import Home, RunLock
from coterie_agent.link.failure import Unreachable
from coterie_agent.runner import Runner
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store, open_store
from coterie_agent.versions.launching import Launcher, note_stopped

log = logging.getLogger(__name__)


def run(arguments: Arguments) -> Output:
    """Ends the process itself, and raises what `run_agent` raises."""
    return run_agent(arguments)


def run_agent(arguments: Arguments, *, serve: bool = False) -> NoReturn:
    """Run until stopped; `serve`: as a supernode, even if agent.toml does not say so.

    Ends the process itself: threads may be left behind in native code that waits for the network.

    Raises AgentError ``agent.not_joined``, ``agent.already_running`` or ``config.invalid`` before anything runs.
    """
    faulthandler.enable()  # prints the stack when native code ends the process
    home = Home(arguments.home)
    config = load_config(home.config)
    if serve:
        config = msgspec.structs.replace(config, relay=msgspec.structs.replace(config.relay, serve=True))
    override = home.root / config.conditions_file if config.conditions_file else None
    log_to_stderr(as_json=arguments.json)
    situation = Situation()
    with open_store(home) as store:
        store.identity.get()
        RunLock(home.lock).acquire()
        _finish_forgetting(home, config, store)
        _keep_log(home, config)
        stop_on_signal(situation.stop)
        runner = Runner(
            home=home,
            config=config,
            store=store,
            read_conditions=conditions_reader(override),
            situation=situation,
            on_trial=arguments.on_trial,
        )
        exit_code = _run(runner)
    if exit_code is Exit.OK and not arguments.on_trial:
        _hand_over(Launcher(home, sys.argv[1:]))
    logging.shutdown()
    sys.stderr.flush()
    os._exit(exit_code)


def _keep_log(home: Home, config: Config) -> None:
    """Write the log to a file, too, unless the owner never sends it: then delete the file."""
    if config.logs.send != "never":
        keep_log(home.log)
        return
    try:
        delete_log(home.log)
    except OSError as error:
        log.warning("the log that was kept cannot be removed: %s", error)


def _hand_over(launcher: Launcher) -> None:
    """Restart as another release where one is to run; else return."""
    try:
        if launcher.must_change():
            launcher.restart()
        note_stopped(launcher.home)
    except OSError as error:
        log.error("the other agent could not be started: %s", error)


def _finish_forgetting(home: Home, config: Config, store: Store) -> None:
    """Finish a request to be forgotten that was interrupted, or could not reach the platform.

    Raises AgentError ``agent.forgotten``, Unreachable or Refused.
    """
    if load_receipt(home) is None:
        return
    forgetter = Forgetter(
        home=home,
        store=store,
        ca_file=config.ca_file,
        record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
    )
    try:
        forgetter.forget()
    except Unreachable as error:
        detail = (
            f"its owner has asked for this device to be forgotten, and the platform was not told yet: {error.detail}"
        )
        raise Unreachable(detail) from error
    raise AgentError("agent.forgotten", "its owner has had this device forgotten", exit_code=Exit.NOT_JOINED)


def _run(runner: Runner) -> Exit:
    try:
        runner.run()
    except AgentError as error:
        log.error("%s [%s]", error.detail, error.code)
        return error.exit_code
    log.info("stopped")
    return Exit.OK
