"""What devices send under kinds of local training that send something else than a difference: examples."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence

from coterie_learning.client.update import CODEC, make_update
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.device_state import State, States, encode_state
from tests.contract.client_vectors import text_of
from tests.contract.distill_vectors import tensors_of
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


def local_vectors() -> bytes:
    """As JSON; bytes are in base64."""
    updates = [one for local, codec in PLANS for one in _updates(local, codec)]
    return json.dumps({"updates": updates}, indent=1, ensure_ascii=False).encode() + b"\n"


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
