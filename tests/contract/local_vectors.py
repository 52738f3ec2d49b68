"""What devices send and remember under kinds of local training that send something else than a difference: examples."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence

import msgspec

from coterie_learning.client.update import CODEC, LOCAL, Update, make_update
from coterie_learning.device_plan import DevicePlan, parse_device_plan
from coterie_learning.device_state import NO_STATE, State, States, encode_state
from coterie_learning.heads import renew
from coterie_learning.local import ANCHOR, Broadcast, Scope
from coterie_learning.subsets import chosen
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors, encode_tensors
from tests.contract.client_vectors import text_of
from tests.contract.distill_vectors import MODEL, tensors_of
from tests.contract.samples import MANIFEST, SEED

STEPS = 4
LOSSES = (0.75, 0.0)
"""Of the received parameters: of two rounds, in the second of which nothing is left to learn."""
PLANS: Sequence[tuple[Mapping[str, object], Mapping[str, object]]] = (
    ({"kind": "fed_nova", "momentum": 0.9}, {"kind": "int8"}),
    ({"kind": "fed_nova", "mu": 0.5}, {"kind": "float32"}),
    ({"kind": "fed_nova"}, {"kind": "int4"}),
    ({"kind": "q_fed_avg", "q": 2, "loss_scale": 3}, {"kind": "int8"}),
    ({"kind": "q_fed_avg", "q": 0}, {"kind": "float32"}),
)
_CODECS: Sequence[Mapping[str, object]] = (
    {"kind": "float32"},
    {"kind": "int8"},
    {"kind": "int4", "granularity": "tensor"},
    {"kind": "top_k", "share": 0.1},
    {"kind": "sparse_levels"},
    {"kind": "pruned"},
    {"kind": "one_bit", "feedback": True},
)
CHAINS: Sequence[tuple[Mapping[str, object], Mapping[str, object], Mapping[str, object]]] = (
    *(({"kind": "scaffold"}, codec, {"kind": "none"}) for codec in _CODECS),
    ({"kind": "scaffold", "steps": 4, "learning_rate": 0.7}, {"kind": "int8"}, {"kind": "clip", "norm": 1.5}),
    ({"kind": "fed_dyn"}, {"kind": "int8"}, {"kind": "none"}),
    ({"kind": "fed_dyn", "alpha": 2.0, "keep_rounds": 1000}, {"kind": "float32"}, {"kind": "clip", "norm": 1.5}),
    ({"kind": "random_subset"}, {"kind": "int8"}, {"kind": "none"}),
    ({"kind": "random_subset", "share": 0.03}, {"kind": "one_bit"}, {"kind": "clip", "norm": 1.5}),
    ({"kind": "random_subset", "share": 1.0}, {"kind": "int4"}, {"kind": "none"}),
    ({"kind": "shared_body"}, {"kind": "int8"}, {"kind": "none"}),
    ({"kind": "shared_body", "personal": "*.bias other"}, {"kind": "int4"}, {"kind": "clip", "norm": 1.5}),
)
"""Kinds of `local`, `codec` and `privacy`; what an update leaves is what the next begins with.

`multitask` is not among them: the last bits of its sums depend on the processor. `tests.contract.client_round` has it.
"""
ROUNDS = (1, 3, 200)
"""Before the last the device was away for so long that some kinds forget."""
SERVER: Mapping[str, Tensors] = {
    "control": tensors_of(0.25),
    "direction_0": tensors_of(3),
}
"""What the platform remembers from the second round on."""
SUBSETS = ((7, 0.5, 3), (128, 0.03, SEED), (5000, 0.001, 2**53 - 1), (40, 1.0, 5), (1, 0.001, 5))
"""Parameters, the share that is chosen of them, and what tells which."""
PATTERNS: Mapping[str, Sequence[str]] = {
    "*.bias": ("fc.bias", "bias", "fc.bias.more", "a/b.bias"),
    "layer?.w": ("layer1.w", "layer12.w", "layer.w"),
    "[a-c]*": ("a", "cab", "dab", "A"),
    "[!a-c]1": ("d1", "a1", "-1"),
    "[]x]": ("]", "x", "[]x]"),
    "[": ("[", "x"),
    "[z-a]": ("z", "a", "-"),
    "[a-]": ("a", "-", "b"),
    "a+(b)|$": ("a+(b)|$", "aab"),
    "zw?lf": ("zwölf", "zwlf"),
}
"""Of the names of parameters, with names that fit and that do not."""


def local_vectors() -> bytes:
    """As JSON; bytes are in base64, or as their SHA-256."""
    document = {
        "updates": [one for local, codec in PLANS for one in _updates(local, codec)],
        "model": msgspec.to_builtins(MODEL),
        "received": text_of(tensors_of(1)),
        "trained": [text_of(_trained(number)) for number in range(len(ROUNDS))],
        "server": {kind: text_of(tensors) for kind, tensors in SERVER.items()},
        "state": b64encode(_server_state()).decode(),
        "chains": [_chain(*kinds) for kinds in CHAINS],
        "subsets": [
            {"parameters": count, "share": share, "draw": draw, "chosen": _chosen(count, share, draw)}
            for count, share, draw in SUBSETS
        ],
        "patterns": [_pattern(pattern, names) for pattern, names in PATTERNS.items()],
        "renewed": text_of(renew(_trained(1), tensors_of(1), MODEL, Scope(personal=("head",)))),
        "renewed_bias": text_of(renew(_trained(1), tensors_of(1), MODEL, Scope(personal=("*.bias",)))),
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _trained(number: int) -> Tensors:
    return tensors_of(1.5 + number)


def _chain(
    local: Mapping[str, object], codec: Mapping[str, object], privacy: Mapping[str, object]
) -> Mapping[str, object]:
    """Updates in succession, the second with what the platform remembers."""
    none = {"kind": "none"}
    plan = {"local": local, "codec": codec, "privacy": privacy, "requirements": {}, "help": none}
    parsed = parse_device_plan(json.dumps(plan).encode())
    made: list[Mapping[str, object]] = []
    states: States = {}
    for number, round_ in enumerate(ROUNDS):
        server = SERVER if number else {}
        broadcast = Broadcast(tensors_of(1), server, round_)
        anchor = parsed.local.begin(broadcast, states.get(LOCAL, NO_STATE)).get(ANCHOR)
        update = _made(parsed, broadcast, number, states)
        states = update.states
        made.append(
            {
                "seed": SEED + number,
                "steps": STEPS,
                "round": round_,
                "has_server": bool(number),
                "anchor": None if anchor is None else _hash(encode_tensors(dict(anchor))),
                "payload": _hash(update.payload),
                "size_bytes": len(update.payload),
                "codec": _hash(encode_state(states[CODEC])),
                "local": _hash(encode_state(states[LOCAL])),
            }
        )
    return {"plan": plan, "updates": made}


def _made(plan: DevicePlan, broadcast: Broadcast, number: int, states: States) -> Update:
    return make_update(
        broadcast.received,
        _trained(number),
        plan=plan,
        model=MODEL,
        states=states,
        steps=STEPS,
        seed=SEED + number,
        secret=0,
        broadcast=broadcast,
    )


def _server_state() -> bytes:
    """As a merge has it written."""
    named = {f"{kind}/{name}": tensor for kind, tensors in SERVER.items() for name, tensor in tensors.items()}
    return encode_tensors(named, {"merge": "of some kind", "notes": "{}"})


def _chosen(parameters: int, share: float, draw: int) -> list[int]:
    spec = TensorSpec("zwölf", "float32", (parameters,))
    positions: list[int] = chosen((spec,), share, draw)[spec.name].tolist()
    return positions


def _pattern(pattern: str, names: Sequence[str]) -> Mapping[str, object]:
    parameters = tuple(TensorSpec(name, "float32", (1,)) for name in names)
    model = msgspec.structs.replace(MODEL, parameters=parameters, head=None)
    return {"pattern": pattern, "names": names, "fit": sorted(Scope(personal=(pattern,)).personal_layers(model))}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _updates(local: Mapping[str, object], codec: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Two in succession: the second gives back what the codec lost of the first."""
    none = {"kind": "none"}
    plan = {"local": local, "codec": codec, "privacy": none, "requirements": {}, "help": none}
    parsed = parse_device_plan(json.dumps(plan).encode())
    made: list[Mapping[str, object]] = []
    states: States = {}
    received = tensors_of(1)
    for number, first in enumerate(LOSSES):
        trained, loss = tensors_of(1.5 + number), first if parsed.local.needs_loss() else None
        update = make_update(
            received,
            trained,
            plan=parsed,
            model=MANIFEST.model,
            states=states,
            steps=STEPS,
            seed=SEED + number,
            secret=0,
            loss=loss,
        )
        before, states = states, update.states
        made.append(
            {
                "plan": plan,
                "seed": SEED + number,
                "steps": STEPS,
                "loss": loss,
                "received": text_of(received),
                "trained": text_of(trained),
                "state": b64encode(encode_state(before[CODEC])).decode() if before else None,
                "payload": b64encode(update.payload).decode(),
                "state_after": b64encode(encode_state(states.get(CODEC, State()))).decode(),
            }
        )
    return made
