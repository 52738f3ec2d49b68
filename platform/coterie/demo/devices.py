"""The demo's devices: real agents, each a process with a state directory of its own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import httpx
import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie_agent.home import Home
from coterie_agent.loopback import Address
from coterie_wire.conditions import Conditions
from coterie_wire.structs import from_json

T = TypeVar("T")


class DeviceSamples(Protocol):
    """What a device is given, or asked about."""

    @property
    def x(self) -> NDArray[np.generic]:
        """[n, *input]"""

    @property
    def y(self) -> NDArray[np.generic]:
        """Classes [n], or targets [n, *target]."""


GOOD = Conditions(charging="yes", network="wifi", idle="yes", temperature_c=38.0)
ON_BATTERY = msgspec.structs.replace(GOOD, charging="no")
METERED = msgspec.structs.replace(GOOD, network="metered")
ACCEPTS = 'consent.more = "accept"  # whoever runs the demo owns its devices, too\n'
AT_A_PHONES_PACE = """\
conditions_file = "conditions.json"
local_api = false
checkpoint_s = 0.5
processor_share = 0.1  # so that there is training to be interrupted
"""
ASKS_PEERS = """\
conditions_file = "conditions.json"
"""
ASKS_NO_PEERS = f"""\
{ASKS_PEERS}
[peers]
ask = false
help_others = false
"""
SAMPLES = "digits.npz"
"""Beside a device's state until it has taken them in."""
STOP_S = 10.0
"""How long an agent that was asked to end may take."""


class AgentFailed(Exception):
    """A command of the agent ended with an error, which it printed."""


class _Prediction(msgspec.Struct, frozen=True):
    index: int


class _Predicted(msgspec.Struct, frozen=True):
    predictions: list[_Prediction]


class _Peers(msgspec.Struct, frozen=True):
    batches: int


class _Status(msgspec.Struct, frozen=True):
    peers: _Peers | None


class _Report(msgspec.Struct, frozen=True):
    status: _Status | None


class DemoDevice:
    """One ``coterie-agent`` on one home directory."""

    def __init__(
        self,
        *,
        name: str,
        home: Path,
        samples: DeviceSamples,
        environment: Mapping[str, str],
        settings: str = AT_A_PHONES_PACE,
    ) -> None:
        self.name = name
        self.samples = samples
        self._settings = settings
        self._home = home
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def has_joined(self) -> bool:
        """Whether its directory is that of a device which belongs to a fleet and has its samples."""
        return self._home.exists() and not (self._home / SAMPLES).exists()

    def join(self, url: str, token: str) -> None:
        """Enrol the device and give it its samples. Raises AgentFailed."""
        self._home.mkdir(parents=True, exist_ok=True)
        self._write_samples()
        (self._home / "agent.toml").write_text(ACCEPTS + self._settings, encoding="utf-8")
        self.set_conditions(GOOD)
        self._command("join", url, token, "--name", self.name)
        self._ingest()

    def replace_samples(self, samples: DeviceSamples) -> None:
        """Give it others in the place of those that it has, also while it runs. Raises AgentFailed."""
        self.samples = samples
        self._write_samples()
        self._ingest("--replace")

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

    def batches_judged(self) -> int:
        """Batches on which the device has evaluated its personal model; 0 while it is starting."""
        if not Home(self._home).local_api.exists():
            return 0
        status = self._local("GET", "/status", _Report).status
        return 0 if status is None or status.peers is None else status.peers.batches

    def meet(self, samples: DeviceSamples) -> None:
        """Hand the running agent more samples. Raises AgentFailed."""
        rows = [{"x": x.ravel().tolist(), "y": int(y)} for x, y in zip(samples.x, samples.y, strict=True)]
        self._local("POST", "/samples", msgspec.Raw, {"samples": rows})

    def accuracy(self, samples: DeviceSamples) -> float:
        """Of what the running agent predicts for `samples`, as a share of 1. Raises AgentFailed."""
        asked = {"samples": [{"x": x.ravel().tolist()} for x in samples.x]}
        said = self._local("POST", "/predict", _Predicted, asked).predictions
        return float(np.mean([one.index for one in said] == samples.y))

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

    def _write_samples(self) -> None:
        np.savez(self._home / SAMPLES, x=self.samples.x, y=self.samples.y)

    def _ingest(self, *options: str) -> None:
        self._command("ingest", *options, str(self._home / SAMPLES))
        (self._home / SAMPLES).unlink()

    def _local(self, method: str, path: str, kind: type[T], body: object = None) -> T:
        """What the device's own API answers."""
        address = from_json(Home(self._home).local_api.read_bytes(), Address)
        headers = {"Authorization": f"Bearer {address.token}"}
        try:
            answer = httpx.request(method, address.url + path, json=body, headers=headers, timeout=30.0)
        except httpx.HTTPError as error:
            raise AgentFailed(f"{self.name}: {path}: {error}") from error
        if answer.is_error:
            raise AgentFailed(f"{self.name}: {path}: {answer.text}")
        return from_json(answer.content, kind)

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
