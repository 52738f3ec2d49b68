"""What a device computes around its train steps where it learns from the cloud model: examples for other languages."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from coterie_learning.client.order import split
from coterie_learning.client.part import TrainedPart
from coterie_learning.client.teacher_probabilities import stored_probabilities, teacher_targets
from coterie_learning.client.update import CODEC, make_update
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.device_state import State, States, encode_state
from coterie_learning.flat import specs_of
from coterie_learning.local import Scope
from coterie_learning.metrics import log_softmax
from coterie_learning.teacher import quantise_weights, restore_weights
from coterie_wire.bundle import Head
from coterie_wire.tensors import Tensors
from tests.contract.client_vectors import text_of
from tests.contract.samples import MANIFEST, SEED, UPDATE

MODEL = msgspec.structs.replace(MANIFEST.model, head=Head("fc.weight", "fc.bias"))
SCOPES = (Scope("seen"), Scope("all", "frozen"), Scope("seen", "frozen"))
SHARES = (0.0, 0.1, 0.2, 0.9)
_REST = {"privacy": {"kind": "none"}, "requirements": {}, "help": {"kind": "none"}}
PLANS: Sequence[Mapping[str, object]] = (
    {**_REST, "local": {"kind": "distill"}, "codec": {"kind": "int8"}},
    {**_REST, "local": {"kind": "distill", "lambda_d": 1, "head": "all", "body": "frozen"}, "codec": {"kind": "int8"}},
    {
        **_REST,
        "local": {"kind": "distill", "lambda_d": 0.25, "momentum": 0.5, "epochs": 7, "patience": 2, "period_days": 1.5},
        "codec": {"kind": "float32"},
        "privacy": {"kind": "clip", "norm": 0.5},
    },
)


def distill_vectors() -> bytes:
    """As JSON; bytes are in base64."""
    ids = list(range(100, 160))
    document = {
        "model": msgspec.to_builtins(MODEL),
        "splits": [{"ids": ids, "share": share, "held_out": split(ids, share=share).held_out} for share in SHARES],
        "parts": [_part(scope, seen) for scope in SCOPES for seen in ((0, 2), (1,), (0, 1, 2, 3))],
        "updates": [one for plan in PLANS for one in _updates(plan)],
        "weights": _weights(),
        "answers": _answers(),
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def tensors_of(number: float) -> Tensors:
    """As large as the update's, so that no bias passes for one of a class that was not seen."""
    return {name: tensor * np.float32(number) + np.float32(0.125) for name, tensor in UPDATE.items()}


def _part(scope: Scope, seen: tuple[int, ...]) -> Mapping[str, object]:
    """The part that a device trains, and the next one's beginning, once it has samples of class 1, too."""
    part, received, trained = TrainedPart.of_device(MODEL, scope, seen), tensors_of(1), tensors_of(0.5)
    later = TrainedPart.of_device(MODEL, scope, sorted({*seen, 1}))
    begun = part.begin(received)
    return {
        "head": scope.head,
        "body": scope.body,
        "seen": seen,
        "received": text_of(received),
        "trained": text_of(trained),
        "classes": part.classes,
        "frozen": sorted(part.frozen()),
        "begun": text_of(begun),
        "ended": text_of(part.end(begun, trained)),
        "gone_on": text_of(later.go_on(begun, trained)),
    }


def _updates(plan: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Two in succession, the second with another class: what the codec lost of the first belongs to its classes."""
    parsed = parse_device_plan(json.dumps(plan).encode())
    made: list[Mapping[str, object]] = []
    received = tensors_of(1)
    states: States = {}
    for number, seen in enumerate(((0,), (0, 2))):
        part = TrainedPart.of_device(MODEL, parsed.local.scope(), seen)
        begun = part.begin(received)
        trained = part.end(begun, tensors_of(1.5 + number))
        update = make_update(
            begun,
            trained,
            plan=parsed,
            model=MODEL,
            states=states,
            steps=3,
            seed=SEED + number,
            secret=0,
            classes=part.classes,
        )
        made.append(
            {
                "plan": plan,
                "seed": SEED + number,
                "classes": part.classes,
                "received": text_of(begun),
                "trained": text_of(trained),
                "state": _state(states),
                "payload": b64encode(update.payload).decode(),
                "state_after": _state(update.states),
            }
        )
        states = update.states
    return made


def _state(states: States) -> str | None:
    found = states.get(CODEC, State())
    return None if found.is_empty else b64encode(encode_state(found)).decode()


def _weights() -> Mapping[str, object]:
    """A teacher's parameters, one row of them zero."""
    rng = np.random.default_rng(7)
    weight = rng.normal(size=(4, 6)).astype(np.float32)
    weight[2] = 0
    parameters = {"fc.bias": rng.normal(size=4).astype(np.float32), "fc.weight": weight}
    content = quantise_weights(parameters)
    specs = specs_of(parameters)
    return {
        "parameters": msgspec.to_builtins(specs),
        "content": b64encode(content).decode(),
        "restored": text_of(restore_weights(content, specs)),
    }


def _answers() -> list[Mapping[str, object]]:
    """A teacher's logits, what is stored of its probabilities, and the targets of devices that have some classes."""
    logits = np.array([[0, 1, -3], [30, 0, 12], [-1e4, 2, 2], [5, 5, 5], [0, 40, 0.5]], np.float32)
    stored = stored_probabilities(np.exp(log_softmax(logits)).astype(np.float32))
    return [
        {
            "logits": logits.tolist(),
            "classes": classes,
            "stored": stored.view(np.uint16).tolist(),
            "taught": teacher_targets(stored, classes).tolist(),
        }
        for classes in ((), (0, 2), (1,), (0, 1, 2))
    ]
