"""The demo's devices: real agents, each a process with a state directory of its own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from coterie.demo.digits import Samples
from coterie_wire.conditions import Conditions

GOOD = Conditions(charging="yes", network="wifi", idle="yes", temperature_c=38.0)
ON_BATTERY = msgspec.structs.replace(GOOD, charging="no")
METERED = msgspec.structs.replace(GOOD, network="metered")
SETTINGS = """\
conditions_file = "conditions.json"
local_api = false
checkpoint_s = 0.5
processor_share = 0.1  # a phone's pace, so that there is training to be interrupted
"""
STOP_S = 10.0
"""How long an agent that was asked to end may take."""


class AgentFailed(Exception):
    """A command of the agent ended with an error, which it printed."""


class DemoDevice:
    """One ``coterie-agent`` on one home directory."""

    def __init__(self, *, name: str, home: Path, samples: Samples, environment: Mapping[str, str]) -> None:
        self.name = name
        self.samples = samples
        self._home = home
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def join(self, url: str, token: str) -> None:
        """Enrol the device and give it its samples. Raises AgentFailed."""
        self._home.mkdir(parents=True)
        (self._home / "agent.toml").write_text(SETTINGS, encoding="utf-8")
        self.set_conditions(GOOD)
        data = self._home / "digits.npz"
        np.savez(data, x=self.samples.x, y=self.samples.y)
        self._command("join", url, token, "--name", self.name)
        self._command("ingest", str(data))
        data.unlink()

    def start(self) -> None:
        """Run the agent in the background; its log goes to ``agent.log`` beside its state."""
        with (self._home / "agent.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._arguments("run"), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment
            )

    def set_conditions(self, conditions: Conditions) -> None:
        """What the device's probes say from now on."""
        draft = self._home / "conditions.json.new"
        draft.write_bytes(msgspec.json.encode(conditions))
        draft.replace(self._home / "conditions.json")

    def kill(self) -> None:
        """As a flat battery would: no time for anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask the agent to end; does not wait."""
        if self._process is not None:
            self._process.terminate()

    def wait(self) -> None:
        """Until a stopped agent has ended."""
        if self._process is not None:
            try:
                self._process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def _command(self, *arguments: str) -> None:
        done = subprocess.run(
            self._arguments(*arguments), capture_output=True, text=True, env=self._environment, check=False
        )
        if done.returncode:
            raise AgentFailed(
                f"{self.name}: coterie-agent {arguments[0]}: {done.stderr.strip() or done.stdout.strip()}"
            )

    def _arguments(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "coterie_agent", "--home", str(self._home), *arguments]
