"""What a device computes in a round around its train steps: examples for clients in other languages.

The numbers of a train step itself depend on the runtime in their last bits; `tests.contract.client_round` has some.
"""

import json
from base64 import b64encode
from collections.abc import Mapping

import msgspec
import numpy as np

from coterie_agent.policy import judge
from coterie_learning.client.order import batch_ids, split
from coterie_learning.client.update import CODEC, make_update
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.device_state import NO_STATE, State, encode_state
from coterie_wire.conditions import Conditions, Requirements
from coterie_wire.tensors import Tensors, encode_tensors
from tests.contract.samples import MANIFEST, SEED, UPDATE

_REST = {"privacy": {"kind": "none"}, "requirements": {}, "help": {"kind": "none"}}
PLANS: Mapping[str, Mapping[str, object]] = {
    "float32": {**_REST, "local": {"kind": "sgd"}, "codec": {"kind": "float32"}},
    "int8 by channel, clipped": {
        **_REST,
        "local": {"kind": "prox", "mu": 0.5, "epochs": 3, "momentum": 0.9},
        "codec": {"kind": "int8"},
        "privacy": {"kind": "clip", "norm": 1.5},
    },
    "int8 by tensor": {**_REST, "local": {"kind": "sgd"}, "codec": {"kind": "int8", "granularity": "tensor"}},
    "central noise": {
        **_REST,
        "local": {"kind": "sgd"},
        "codec": {"kind": "int8"},
        "privacy": {"kind": "central_noise", "norm": 0.25},
    },
}
SPLITS = (tuple(range(1, 8)), tuple(range(1, 61)), tuple(range(1000, 1400, 7)))
BATCHES = ((5, 1, 2, 7), (100, SEED, 32, 0), (100, SEED, 32, 9), (33, 2**53, 16, 4))
"""Samples, seed, batch size and step."""
_OWNER = Requirements()
_STRICT = Requirements(idle=True, max_temperature_c=62.5, hours=(22, 6))
_READY = Conditions("yes", "wifi", "yes")
JUDGED: tuple[tuple[Requirements | None, Requirements, Conditions, int], ...] = (
    (None, _OWNER, Conditions(), 12),
    (_STRICT, _OWNER, Conditions(), 12),
    (_STRICT, _OWNER, _READY, 21),
    (_STRICT, _OWNER, _READY, 22),
    (_STRICT, _OWNER, _READY, 5),
    (_OWNER, _STRICT, Conditions("no", "metered", "no"), 6),
    (_OWNER, Requirements(hours=(8, 8)), Conditions("no", "none", "no"), 3),
    (Requirements(charging=False, unmetered=False), _OWNER, Conditions("unknown", "ethernet", "no"), 0),
    (Requirements(unknown="allow"), Requirements(unknown="allow", idle=True), Conditions(), 0),
    (_OWNER, _OWNER, _READY, 0),
)
"""What a plan and an owner ask, what is true, and the local hour; a browser knows no temperature."""


def client_vectors() -> bytes:
    """As JSON; bytes are in base64."""
    splits = [{"ids": ids, "train": split(ids).train, "held_out": split(ids).held_out} for ids in SPLITS]
    batches = [
        {
            "samples": samples,
            "seed": seed,
            "batch_size": size,
            "step": step,
            "ids": batch_ids(range(samples), seed=seed, step=step, batch_size=size),
        }
        for samples, seed, size, step in BATCHES
    ]
    updates = [one for name, plan in PLANS.items() for one in _updates(name, plan)]
    judged = [
        {
            "plan": msgspec.to_builtins(plan),
            "owner": msgspec.to_builtins(owner),
            "conditions": msgspec.to_builtins(conditions),
            "hour": hour,
            "reasons": msgspec.to_builtins(judge(plan, owner, conditions, hour)),
        }
        for plan, owner, conditions, hour in JUDGED
    ]
    document = {"splits": splits, "batches": batches, "updates": updates, "judged": judged}
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _updates(name: str, plan: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Two in succession: the second has to give back what the codec lost of the first."""
    received = {spec.name: np.full(spec.shape, 0.125, np.float32) for spec in MANIFEST.model.parameters}
    made: list[Mapping[str, object]] = []
    state = NO_STATE
    for number in range(2):
        trained = {spec: received[spec] + tensor / np.float32(number + 1) for spec, tensor in UPDATE.items()}
        update = make_update(
            received,
            trained,
            plan=parse_device_plan(json.dumps(plan).encode()),
            model=MANIFEST.model,
            states={CODEC: state},
            steps=3,
            seed=SEED + number,
            secret=0,
        )
        made.append(
            {
                "name": name,
                "plan": plan,
                "seed": SEED + number,
                "received": text_of(received),
                "trained": text_of(trained),
                "state": None if state.is_empty else _text(encode_state(state)),
                "payload": _text(update.payload),
                "state_after": _text(encode_state(update.states[CODEC])),
            }
        )
        state = State(update.states[CODEC].tensors)
    return made


def text_of(tensors: Tensors) -> str:
    """As a tensor file, in base64."""
    return _text(encode_tensors(dict(tensors)))


def _text(content: bytes) -> str:
    return b64encode(content).decode()
