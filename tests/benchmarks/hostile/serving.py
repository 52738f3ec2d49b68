"""What programs on a device send to its prediction service beside what they send to its local API."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import psutil

from coterie_agent.loopback import Address
from tests.benchmarks.hostile.kinds import Context, Make, request
from tests.benchmarks.hostile.local_api import LOCAL_KINDS, asked
from tests.system.eventually import eventually
from tests.system.processes import ROOT, environment

SERVING_KINDS: dict[str, Make] = {name.replace("local", "serving", 1): make for name, make in LOCAL_KINDS.items()}
ANNOUNCED = frozenset({"503", "504"})
"""It is busy or has no model; it is not ready by the deadline that it was given."""


def serving(make: Make) -> Make:
    """Register what a function makes under its name in words."""
    SERVING_KINDS[f"serving: {make.__name__.replace('_', ' ')}"] = make
    return make


def ask(context: Context, count: int = 1, **more: object) -> bytes:
    """For predictions of so many samples, as they should be."""
    sample = {"x": [0.5] * 1024}
    return asked(context, "/predict", json.dumps({"samples": [sample] * count, **more}).encode())


@serving
def pipelined_questions_that_nobody_reads(rng: Random, context: Context) -> bytes:
    return ask(context) * 200


@serving
def a_pipelined_question_behind_a_bad_one(rng: Random, context: Context) -> bytes:
    return request("POST", "/predict", body=b"{}") + ask(context)


@serving
def a_flood_of_samples(rng: Random, context: Context) -> bytes:
    return ask(context, count=256)


@serving
def more_samples_than_one_may_ask_for(rng: Random, context: Context) -> bytes:
    return ask(context, count=257)


@serving
def a_deadline_that_nobody_meets(rng: Random, context: Context) -> bytes:
    return ask(context, count=64, deadline_ms=0.001)


@serving
def a_deadline_of_years(rng: Random, context: Context) -> bytes:
    return ask(context, deadline_ms=1e300)


@serving
def a_new_stream_each_time(rng: Random, context: Context) -> bytes:
    return ask(context, stream=str(rng.random()))


@serving
def a_stream_with_a_long_name(rng: Random, context: Context) -> bytes:
    return ask(context, stream="s" * 100_000)


@serving
def chunks(rng: Random, context: Context) -> bytes:
    return request("POST", "/predict", "Transfer-Encoding: chunked") + b'5\r\n{"sam\r\n'


class Service(NamedTuple):
    """One that answers."""

    process: psutil.Process
    port: int
    socket: Path
    context: Context


@contextmanager
def service(home: Path) -> Iterator[Service]:
    """``coterie-agent serve`` on an agent's home, as long as the block lasts."""
    command = [sys.executable, "-m", "coterie_agent", "--home", str(home), "serve"]
    with (home / "serve.log").open("ab") as log:
        process = subprocess.Popen(command, stderr=log, env=environment(), cwd=ROOT)
    try:
        eventually((home / "serve.json").exists)
        address = msgspec.json.decode((home / "serve.json").read_bytes(), type=Address)
        port = int(address.url.rpartition(":")[2])
        yield Service(psutil.Process(process.pid), port, Path(address.socket), Context("", address.token))
    finally:
        process.kill()
        process.wait()
