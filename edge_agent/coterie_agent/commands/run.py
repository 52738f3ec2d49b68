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
from coterie_agent.device_log.keeping import forget_log, keep_log
from coterie_agent.errors import AgentError, Exit
from coterie_agent.forgetting import Forgetter, kept_receipt
from coterie_agent.home import Home, RunLock
from coterie_agent.runner import Runner
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store, open_store
from coterie_agent.versions.launching import Launcher, stopped_well

log = logging.getLogger(__name__)


def run(arguments: Arguments) -> Output:
    """Ends the process itself, and raises what `run_agent` raises."""
    return run_agent(arguments)


def run_agent(arguments: Arguments, *, serve: bool = False) -> NoReturn:
    """Run until stopped; `serve`: as a supernode, whatever agent.toml says of that.

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
        _make_way(Launcher(home, sys.argv[1:]))
    logging.shutdown()
    sys.stderr.flush()
    os._exit(exit_code)


def _keep_log(home: Home, config: Config) -> None:
    """Beside what goes to standard error; of an owner who lets nobody have it there is none."""
    if config.logs.send != "never":
        keep_log(home.log)
        return
    try:
        forget_log(home.log)
    except OSError as error:
        log.warning("the log that was kept cannot be removed: %s", error)


def _make_way(launcher: Launcher) -> None:
    """Return unless another agent is to run in this one's place."""
    try:
        if launcher.is_to_change():
            launcher.restart()
        stopped_well(launcher.home)
    except OSError as error:
        log.error("the other agent could not be started: %s", error)


def _finish_forgetting(home: Home, config: Config, store: Store) -> None:
    """The owner has asked for it, and the agent was killed, or the platform away, before it was done.

    Raises AgentError ``agent.forgotten``, Unreachable or Refused.
    """
    if kept_receipt(home) is None:
        return
    forgetter = Forgetter(
        home=home,
        store=store,
        ca_file=config.ca_file,
        record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
    )
    forgetter.forget()
    raise AgentError("agent.forgotten", "its owner has had this device forgotten", exit_code=Exit.NOT_JOINED)


def _run(runner: Runner) -> Exit:
    try:
        runner.run()
    except AgentError as error:
        log.error("%s [%s]", error.detail, error.code)
        return error.exit_code
    log.info("stopped")
    return Exit.OK
