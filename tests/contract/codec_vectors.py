"""What codecs make of updates of more than one chunk, whole and as what a device keeps of them, by their hashes.

Whoever repeats them draws the numbers by the same random bytes.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from coterie_learning.client.update import CODEC, make_update
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.device_state import State, States, encode_state
from coterie_learning.random import random_bytes
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors
from tests.contract.samples import MANIFEST, SEED

SPECS = tuple(
    TensorSpec(name, "float32", shape)
    for name, shape in (("zwölf.weight", (300, 281)), ("a.weight", (5, 130)), ("a.bias", (5,)), ("10", (1, 1, 3)))
)
MODEL = msgspec.structs.replace(MANIFEST.model, parameters=SPECS, optimiser_state=())
QUIET = "a.bias"
"""A tensor that has learned nothing."""
CODECS: Sequence[Mapping[str, object]] = (
    {"kind": "int8"},
    {"kind": "int4"},
    {"kind": "int4", "granularity": "tensor"},
    {"kind": "top_k"},
    {"kind": "top_k", "share": 0.2, "value": "int8"},
    {"kind": "top_k", "share": 1e-5, "feedback": False},
    {"kind": "top_k", "share": 1, "value": "int8"},
    {"kind": "sparse_levels"},
    {"kind": "sparse_levels", "step": 3.4, "feedback": True},
    {"kind": "sparse_levels", "step": 16},
    {"kind": "pruned"},
    {"kind": "pruned", "share": 0.125, "feedback": False},
    {"kind": "one_bit"},
    {"kind": "one_bit", "feedback": True},
)


def codec_vectors() -> bytes:
    """As JSON."""
    document = {
        "model": msgspec.to_builtins(MODEL),
        "seed": SEED,
        "quiet": QUIET,
        "updates": [one for codec in CODECS for one in _updates(codec)],
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def numbers_of(number: int) -> Tensors:
    """Those of the update of that number: mostly small, both signs, with many that are equal."""
    return {spec.name: _numbers(spec, number) for spec in SPECS}


def _numbers(spec: TensorSpec, number: int) -> Float32:
    size = int(np.prod(spec.shape))
    drawn = np.frombuffer(random_bytes(2 * size, SEED, "update", spec.name, number), "<u2").astype(np.float32)
    small = (drawn - np.float32(32767.5)) / np.float32(2**15)
    numbers: Float32 = (small * small * small * np.float32(spec.name != QUIET)).reshape(spec.shape)
    return numbers


def _updates(codec: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Two in succession: the second gives back what the codec lost of the first, where it feeds back."""
    none = {"kind": "none"}
    plan = {"local": {"kind": "sgd"}, "codec": codec, "privacy": none, "requirements": {}, "help": none}
    received = {spec.name: np.zeros(spec.shape, np.float32) for spec in SPECS}
    made: list[Mapping[str, object]] = []
    states: States = {}
    for number in range(2):
        update = make_update(
            received,
            numbers_of(number),
            plan=parse_device_plan(json.dumps(plan).encode()),
            model=MODEL,
            states=states,
            steps=1,
            seed=SEED + number,
            secret=0,
        )
        states = update.states
        made.append(
            {
                "plan": plan,
                "number": number,
                "size_bytes": len(update.payload),
                "payload": hashlib.sha256(update.payload).hexdigest(),
                "state_after": hashlib.sha256(encode_state(states.get(CODEC, State()))).hexdigest(),
            }
        )
    return made
