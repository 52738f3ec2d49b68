"""Signals that end a command, sent to a process of its own."""

import signal
import subprocess
import sys

import pytest

from tests.coterie_agent.test_cli import ENVIRONMENT

WAITS = """
import sys, threading
from coterie_agent.commands.until_stopped import stop_on_signal

stopped = threading.Event()
stop_on_signal(stopped.set)
print("ready", flush=True)
print("stopped" if stopped.wait() else "")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_is_stopped_in_order(number: signal.Signals) -> None:
    with _started("") as process:
        process.send_signal(number)
        assert process.communicate(timeout=30)[0] == "stopped\n"
    assert process.returncode == 0


def test_what_a_process_was_started_to_ignore_does_not_stop_it() -> None:
    with _started("import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)") as process:
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        process.kill()


def _started(before: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", before + WAITS]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process
