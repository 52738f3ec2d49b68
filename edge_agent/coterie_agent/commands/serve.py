"""``coterie-agent serve``: serve predictions of the held model to programs on this device, until stopped."""

import faulthandler
import logging
import os
import sys
import threading
from typing import NoReturn

from coterie_agent.commands import Arguments
from coterie_agent.commands.until_stopped import log_to_stderr, stop_on_signal
from coterie_agent.config import load_config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, RunLock
from coterie_agent.store.opened import open_store

log = logging.getLogger(__name__)


def run(arguments: Arguments) -> NoReturn:
    """Ends the process itself: requests that hang may be left behind.

    Raises AgentError ``agent.not_joined``, ``agent.already_running``, ``config.invalid``, ``serve.port_taken`` or
    ``serve.bad_socket`` before anything is served.
    """
    faulthandler.enable()  # prints the stack when native code ends the process
    home = Home(arguments.home)
    config = load_config(home.config)
    log_to_stderr(as_json=arguments.json)
    with open_store(home) as store:
        store.identity.get()
        RunLock(home.serving_lock).acquire()
        stopped = threading.Event()
        stop_on_signal(stopped.set)
        from coterie_agent.serving.server import PredictionServer  # only here: onnxruntime starts threads, which would
        # receive signals unless these are blocked before

        server = PredictionServer(home, config, store, stopped)
        exit_code = Exit.OK
        try:
            server.run()
        except AgentError as error:
            log.error("%s [%s]", error.detail, error.code)
            exit_code = error.exit_code
    log.info("stopped")
    logging.shutdown()
    sys.stderr.flush()
    os._exit(exit_code)
