"""What a device draws, counts and is charged under noise: examples for clients in other languages."""

import json
from base64 import b64encode
from collections.abc import Mapping

import numpy as np

from coterie_agent.training.turns import release_cost
from coterie_learning.accounting import cost_of, epsilon_of, is_affordable, largest_mu2
from coterie_learning.client.update import make_update
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.noise import whole_noise
from coterie_wire.tensors import encode_tensors
from tests.contract.samples import MANIFEST, SEED, UPDATE

SECRET = 2**255 + SEED
_REST = {"local": {"kind": "sgd"}, "codec": {"kind": "float32"}, "requirements": {}, "help": {"kind": "none"}}
PRIVACY: tuple[Mapping[str, object], ...] = (
    {"kind": "none"},
    {"kind": "clip", "norm": 0.5},
    {"kind": "local_noise"},
    {"kind": "local_noise", "norm": 1000.0, "noise_multiplier": 0.01},
    {"kind": "central_noise", "norm": 0.25, "noise_multiplier": 3.0},
    {"kind": "correlated_noise"},
    {"kind": "correlated_noise", "norm": 0.25, "noise_multiplier": 13.5, "separation_rounds": 3, "target_rounds": 9},
)
NOISE = (("delta.fc.weight", 1.5), ("zwölf", 2.0**20))
"""Names of tensors, and standard deviations."""
SPENT = ((0.01, 1e-6), (0.5, 1e-9), (1.0, 1e-5), (8.5, 1e-6), (900.0, 1e-6), (0.0, 0.5))
"""Costs in all, and deltas."""
BUDGETS = ((8.0, 1e-6), (0.1, 1e-9), (1000.0, 0.5))
PAID = ((1.0, 0.75, 0.25), (1.0, 0.75, 0.2500000001), (1.0, 0.75, 0.26), (0.0, 0.0, 0.01))
"""Budgets, what was spent of them, and costs."""


def privacy_vectors() -> bytes:
    """As JSON; bytes are in base64, and the secret is in decimals."""
    document = {
        "secret": str(SECRET),
        "updates": [_update(privacy) for privacy in PRIVACY],
        "noise": [
            {
                "name": name,
                "deviation": deviation,
                "numbers": whole_noise(deviation, SECRET.to_bytes(32, "big"), name, 0, 4100)[4090:].tolist(),
            }
            for name, deviation in NOISE
        ],
        "spent": [{"mu2": mu2, "delta": delta, "epsilon": _ten(epsilon_of(mu2, delta))} for mu2, delta in SPENT],
        "budgets": [
            {"epsilon": epsilon, "delta": delta, "most": _ten(largest_mu2(epsilon, delta))}
            for epsilon, delta in BUDGETS
        ],
        "paid": [
            {"most": most, "spent": spent, "cost": cost, "pays": is_affordable(most, spent, cost)}
            for most, spent, cost in PAID
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _update(privacy: Mapping[str, object]) -> Mapping[str, object]:
    plan = {**_REST, "privacy": privacy}
    parsed = parse_device_plan(json.dumps(plan).encode())
    received = {spec.name: np.full(spec.shape, 0.125, np.float32) for spec in MANIFEST.model.parameters}
    trained = {spec: received[spec] + tensor for spec, tensor in UPDATE.items()}
    update = make_update(
        received, trained, plan=parsed, model=MANIFEST.model, states={}, steps=3, seed=SEED, secret=SECRET
    )
    spent, stream = release_cost(parsed.privacy), parsed.privacy.stream()
    return {
        "plan": plan,
        "received": b64encode(encode_tensors(received)).decode(),
        "trained": b64encode(encode_tensors(trained)).decode(),
        "payload": b64encode(update.payload).decode(),
        "releases": parsed.privacy.releases,
        "cost": None if spent is None else _ten(cost_of(*spent)),
        "apart": None if stream is None else stream.apart,
    }


def _ten(number: float) -> float:
    """Ten digits, which do not depend on a processor's library."""
    return float(f"{number:.10g}")
