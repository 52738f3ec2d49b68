"""What steps that take several gradients come to on a graph of a few products: examples for other languages.

The numbers of a real graph depend on the runtime in their last bits, these do not; `tests.contract.client_round` has
both.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from coterie_learning.client.optimisation import Batch
from coterie_learning.client.round import ClientRound, Given
from coterie_learning.client.training import Learn
from coterie_learning.device_plan import parse_device_plan
from coterie_wire.tensors import Array, Float32, Tensors, encode_tensors
from tests.contract.client_vectors import text_of
from tests.contract.distill_vectors import MODEL as WITHOUT_SEED
from tests.contract.distill_vectors import tensors_of
from tests.contract.samples import SEED

MODEL = msgspec.structs.replace(WITHOUT_SEED, seeded=True)
IDS = range(1, 71)
"""Batches of 32 and the rest: of each epoch the last is not full."""
LOCALS: Sequence[Mapping[str, object]] = (
    {"kind": "per_fedavg"},
    {"kind": "per_fedavg", "steps": 3, "alpha": 0.3, "beta": 0.7, "delta": 0.05},
    {"kind": "per_fedavg", "steps": 5, "hessian": "none"},
    {"kind": "per_fedavg", "steps": 3, "alpha": 0, "beta": 0.1},
    {"kind": "per_fedavg", "steps": 2, "alpha": 0, "hessian": "none"},
)


class ProductSteps:
    """Steps of a graph whose gradient is the parameters times a number that batch and seed give.

    That is the sum of the samples' numbers, which are their targets, modulo 61, and of the seed modulo 8, over 64.
    """

    def __init__(self, carried: Tensors) -> None:
        self._carried: Tensors = dict(carried)
        self._next: Tensors = {}

    def run(self, given: Mapping[str, Array]) -> float:
        slope = np.float32((int(given["target"].sum()) % 61 + int(given["seed"]) % 8) / 64)
        rate = np.float32(given["learning_rate"])
        self._next = {
            name: tensor - rate * (slope * tensor) if name.startswith("param.") else tensor + np.float32(1)
            for name, tensor in self._carried.items()
        }
        return 1.0

    def advance(self) -> None:
        self._carried = self._next

    def read(self, name: str) -> Float32:
        return self._carried[name].copy()

    def write(self, carried: Tensors) -> None:
        self._carried = {**self._carried, **carried}


def open_products(carried: Tensors, fixed: Mapping[str, Array], *, frozen: frozenset[str]) -> ProductSteps:
    return ProductSteps(carried)


def gradient_vectors() -> bytes:
    """As JSON; of parameters and checkpoints the SHA-256 after each run of the graph, the update in base64."""
    document = {
        "model": msgspec.to_builtins(MODEL),
        "received": text_of(tensors_of(1)),
        "ids": list(IDS),
        "seed": SEED,
        "rounds": [_round(local) for local in LOCALS],
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _round(local: Mapping[str, object]) -> Mapping[str, object]:
    none = {"kind": "none"}
    plan = {"local": local, "codec": {"kind": "int8"}, "privacy": none, "requirements": {}, "help": none}
    client = ClientRound(
        Given(
            plan=parse_device_plan(json.dumps(plan).encode()),
            model=MODEL,
            received=tensors_of(1),
            ids=IDS,
            seen=range(3),
            seed=SEED,
            secret=0,
            states={},
        ),
        open_products,
    )
    training = client.training
    runs: list[Mapping[str, object]] = []
    while isinstance(wanted := training.next_task(), Learn):
        training.learn(_batch(wanted.ids))
        runs.append(
            {
                "ids": list(wanted.ids),
                "parameters": _hash(encode_tensors(dict(training.trained()))),
                "checkpoint": _hash(training.checkpoint().tensors),
            }
        )
    result = client.finish(training.trained())
    update = b64encode(result.update.payload).decode()
    return {"plan": plan, "runs": runs, "samples": result.samples, "update": update}


def _batch(ids: Sequence[int]) -> Batch:
    size = MODEL.batch_size
    inputs = {spec.name: np.zeros((size, *spec.shape), np.float32) for spec in MODEL.inputs}
    target = np.array([*ids, *[0] * (size - len(ids))], np.int64)
    return Batch(inputs, target, (np.arange(size) < len(ids)).astype(np.float32))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
