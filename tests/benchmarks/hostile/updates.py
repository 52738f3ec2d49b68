"""Updates that no codec wrote: what a hostile device sends where a round asks for an update."""

import gzip
import threading
import zlib
from collections.abc import Callable
from itertools import cycle
from random import Random

import httpx
import numpy as np

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.codec.top_k import TopK
from tests.benchmarks.hostile.attackers import Outcome
from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.scripted_device import Refused, ScriptedDevice

INVITED = 10_000
"""More than can deliver while the attack lasts."""
Spoil = Callable[[bytes, Random], bytes]
SPOILT: dict[str, Spoil] = {
    "half of it": lambda sound, rng: sound[: rng.randrange(len(sound))],
    "flipped bits": lambda sound, rng: _flipped(sound, rng, 64),
    "a flipped bit of its head": lambda sound, rng: _flipped(sound[:200], rng, 1) + sound[200:],
    "random bytes": lambda _, rng: rng.randbytes(4000),
    "nothing but zeros": lambda sound, _: bytes(len(sound)),
    "an announced head of gigabytes": lambda sound, _: (1 << 40).to_bytes(8, "little") + sound[8:],
    "more at its end": lambda sound, rng: sound + rng.randbytes(100),
    "deflated zeros": lambda *_: zlib.compress(bytes(1 << 20)),
    "zipped zeros": lambda *_: gzip.compress(bytes(1 << 20)),
    "another codec": lambda *_: payload(1, TopK()),
    "floats for int8": lambda *_: payload(1, Float32Codec()),
    "other tensors": lambda *_: Int8().encode({"x": np.zeros(3, np.float32)}, seed=1).payload,
}


class Liars(threading.Thread):
    """Devices without end, each of which joins a round and delivers something else than an update."""

    def __init__(self, url: str, token: str, pair: str, outcome: Outcome) -> None:
        super().__init__(daemon=True)
        self._url, self._token, self._pair, self._outcome = url, token, pair, outcome
        self._ending = threading.Event()
        self._failure: Exception | None = None

    def run(self) -> None:
        try:
            self._lie_on()
        except Exception as error:  # noqa: BLE001 - raised by `end`
            self._failure = error

    def _lie_on(self) -> None:
        with OperatorClient(self._url, self._token) as operator:
            pace = {"kind": "sync", "target_updates": INVITED, "min_updates": 1, "over_selection": 1, "absent_s": 3600}
            federation = operator.start_federation("liars", pair=self._pair, plan={"pace": pace})
            secret = operator.enrolment_token(tag="liars", uses=INVITED)
            rng = Random(0)
            for turn, (name, spoil) in enumerate(cycle(SPOILT.items())):
                if self._ending.is_set() and turn >= len(SPOILT):  # each of them once, however short the attack is
                    break
                self._lie(f"update: {name}", spoil(payload(rng.randrange(1000)), rng), secret)
            operator.post(f"/federations/{federation}/finish/")

    def end(self) -> None:
        """Wait for the last of them. Raises what stopped them before."""
        self._ending.set()
        self.join(120)
        assert not self.is_alive()
        if self._failure is not None:
            raise self._failure

    def _lie(self, name: str, content: bytes, secret: str) -> None:
        try:
            device = ScriptedDevice(self._url, secret, "liar")
            try:
                assignment = device.assignment(1).assignment
            except AssertionError:
                self._outcome.answers["never asked"] += 1
                device.close()
                return
            try:
                self._outcome.sent[name] += 1
                device.offer(assignment, content)
                device.send(assignment, content, 0)
                self._outcome.answers["accepted"] += 1
            finally:
                device.close()
        except Refused as refused:
            status = refused.problem.status
            self._outcome.answers[str(status)] += 1
            if status >= 500 and status != 503:
                self._outcome.broken[f"{name}: {status}"] += 1
        except httpx.TransportError:
            self._outcome.answers["cut off"] += 1


def _flipped(content: bytes, rng: Random, bits: int) -> bytes:
    spoilt = bytearray(content)
    for _ in range(bits):
        spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
    return bytes(spoilt)
