"""A device's part in secure sums, from keys to masked vector and shares: examples for clients in other languages.

Keys and shares, which devices draw, follow from numbers here.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from nacl.signing import SigningKey

from coterie_learning.contribution import Contents, DeviceFigures
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.privacy import Masking
from coterie_learning.secure_sum import masks, party
from coterie_learning.secure_sum.graph import neighbours_of
from coterie_learning.secure_sum.identities import EMPTY, next_head
from coterie_learning.secure_sum.members import MemberList, encode_members, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.shamir import PRIME, SHARE_BYTES
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Vector, encode_vector, pack
from coterie_learning.update_files import Contents as UpdateContents
from coterie_learning.updates import encode_scalars, join_update
from coterie_wire.bundle import RunningMoments, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import Box
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import encode_tensors
from tests.contract.samples import MANIFEST, SEED, UPDATE

SESSION = "zwölf-sums"
DIGEST = hashlib.sha256(b"a list").digest()
TERMS = (
    SumTerms(3, 0.0, 0.25, "curious"),
    SumTerms(10, 0.1, 0.2, "curious"),
    SumTerms(10, 0.1, 0.2, "split_view"),
    SumTerms(3, 0.45, 0.45, "split_view"),
)
MEMBERS = (2, 3, 4, 10, 49, 50, 120, 500, 2500)
SGD: Mapping[str, object] = {"kind": "sgd"}
PRIVACY: tuple[Mapping[str, object], ...] = (
    {"kind": "secure_aggregation", "min_devices": 3, "corrupted": 0.0, "norm": 5.0},
    {"kind": "secure_aggregation", "min_devices": 3, "bits": 12, "norm": 0.5, "full_samples": 50},
    {"kind": "secure_aggregation", "bits": 28, "norm": 2.0},
    {"kind": "distributed_noise", "min_devices": 3, "corrupted": 0.0, "norm": 5.0, "noise_multiplier": 4.0},
    {"kind": "distributed_noise", "norm": 0.5, "noise_multiplier": 1.0, "bits": 20},
)
WITH_MORE: tuple[Mapping[str, object], ...] = (
    {"kind": "q_fed_avg", "q": 2.0},
    {"kind": "fed_nova", "momentum": 0.5},
    {"kind": "scaffold"},
)
"""Kinds of local training that send numbers, or another part, beside the difference."""
NUMBERS = {"weight": 0.3, "curvature": 1e5 / 3, "normaliser": 7.25}
PAIR = RunningMoments(TensorSpec("norm.mean", "float32", (2,)), TensorSpec("norm.variance", "float32", (2,)))
NORMALISED = msgspec.structs.replace(MANIFEST.model, statistics=(PAIR,))
BASE = {"norm.mean": np.array([0.5, -1.25], np.float32), "norm.variance": np.array([1.0, 2.0], np.float32)}
GATHERED = {"norm.mean": np.array([0.7, -1.5], np.float32), "norm.variance": np.array([0.9, 3.1], np.float32)}
MASKED_LENGTH, MANY = 6, masks.DRAWN + 4
KEY = 2**255 + SEED


def secure_vectors() -> bytes:
    """As JSON; bytes are in base64, and large numbers in decimals."""
    document = {
        "masks": _masks(),
        "shares": _shares(),
        "graphs": [_graph(terms, members) for terms in TERMS for members in MEMBERS],
        "rings": [
            {"member": member, "members": 60, "neighbours": 8, "seed": str(KEY), "found": found}
            for member in (0, 17)
            for found in [list(neighbours_of(member, 60, 8, KEY))]
        ],
        "log": _log(),
        "contributions": [
            *(_contribution(privacy, SGD) for privacy in PRIVACY),
            *(_contribution(PRIVACY[1], local) for local in WITH_MORE),
        ],
        "sum": _sum(),
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _masks() -> Mapping[str, object]:
    secret, other = _secret("mine"), _secret("other's")
    public = masks.public_key(other)
    box = masks.seal(bytes(range(66)), secret=secret, to=public, digest=DIGEST)
    added = []
    for kind in (np.uint16, np.uint32, np.uint64):
        for subtract in (False, True):
            numbers = np.arange(MANY, dtype=kind)
            masks.add_mask(numbers, secret, "numbers", subtract=subtract)
            added.append(
                {"bits": 8 * numbers.itemsize, "subtract": subtract, "numbers": [str(one) for one in numbers[-8:]]}
            )
    small = [bytes(32), b"\1" + bytes(31), (2**255 - 20).to_bytes(32, "little"), b"\xff" * 32, public]
    return {
        "secret": _text(secret),
        "public": _text(masks.public_key(secret)),
        "other": _text(public),
        "digest": _text(DIGEST),
        "commitment": _text(masks.commitment(secret)),
        "pair_seed": _text(masks.pair_seed(secret, public, DIGEST)),
        "box": _text(box),
        "added": added,
        "keys": [{"public": _text(one), "is_key": masks.is_key(one)} for one in small],
    }


def _shares() -> Mapping[str, object]:
    polynomial = [int.from_bytes(_secret(f"coefficient {place}"), "big") for place in range(3)] + [PRIME - 1]
    points = [1, 2, 5, 2500]
    return {
        "polynomial": [str(one) for one in polynomial],
        "points": points,
        "shares": [_text(_share(polynomial, point)) for point in points],
    }


def _share(polynomial: Sequence[int], point: int) -> bytes:
    value = sum(coefficient * point**power for power, coefficient in enumerate(polynomial)) % PRIME
    return value.to_bytes(SHARE_BYTES, "big")


def _graph(terms: SumTerms, members: int) -> Mapping[str, object]:
    asked = {"terms": terms._asdict(), "members": members}
    try:
        return {**asked, "graph": terms.graph(members)._asdict()}
    except WireError as error:
        return {**asked, "graph": None, "detail": error.detail}


def _log() -> Mapping[str, object]:
    identities = [(f"device-{number}", bytes(_identity(number).verify_key)) for number in range(3)]
    heads, head = [EMPTY], EMPTY
    for device, identity in identities:
        head = next_head(head, device, identity)
        heads.append(head)
    return {"entries": [[device, _text(key)] for device, key in identities], "heads": [_text(one) for one in heads]}


def _contribution(privacy: Mapping[str, object], local: Mapping[str, object]) -> Mapping[str, object]:
    """What one device adds to a sum of twelve, of a model with running statistics where noise does not forbid them."""
    rest = {"local": local, "codec": {"kind": "float32"}, "requirements": {}, "help": {"kind": "none"}}
    plan = parse_device_plan(json.dumps({**rest, "privacy": privacy}).encode())
    masking = _masking(privacy)
    parts = [{name: tensor / (1 + place) for name, tensor in UPDATE.items()} for place in range(len(plan.local.parts))]
    encoded = [plan.codec.encode(plan.privacy.protect(part, seed=0), seed=SEED).payload for part in parts]
    if plan.local.scalars:
        encoded.append(encode_scalars({name: NUMBERS[name] for name in plan.local.scalars}))
    measured = DeviceFigures(37, 2.5, 1.25, 0.625 if "bits" in privacy else None)
    model = NORMALISED if masking.noise_multiplier is None else MANIFEST.model
    payload = join_update(GATHERED if model.statistics else {}, *encoded)
    update = UpdateContents(model, plan.codec, plan.local).open(InMemory(payload), ())
    contents = Contents(model, plan.local, masking, members=12, seed=7)
    vector = contents.vector(update, measured, BASE, seed=SEED, key=KEY.to_bytes(32, "big"))
    return {
        "plan": {**rest, "privacy": privacy},
        "model": msgspec.to_builtins(model),
        "base": _text(encode_tensors(BASE)),
        "members": 12,
        "round": 7,
        "seed": SEED,
        "key": str(KEY),
        "measured": measured._asdict(),
        "payload": _text(payload),
        "packed": _text(pack(vector.numbers, vector.bits).tobytes()),
        "tail": [str(one) for one in vector.tail],
    }


def _masking(privacy: Mapping[str, object]) -> Masking:
    rest = {"local": {"kind": "sgd"}, "codec": {"kind": "float32"}, "requirements": {}, "help": {"kind": "none"}}
    masking = parse_device_plan(json.dumps({**rest, "privacy": privacy}).encode()).privacy.masking()
    assert masking is not None
    return masking


def _sum() -> Mapping[str, object]:
    """What the second of four members sends in each step, where one is lost after it has shared its secrets."""
    terms = TERMS[0]
    states = [_state(number) for number in range(4)]
    entries = [party.entry(state, _identity(number)) for number, state in enumerate(states)]
    found = member_list(SESSION, entries, EMPTY)
    by_place = {found.place_of(state.device): state for state in states}
    place = 1
    state = msgspec.structs.replace(by_place[place], members=encode_members(found), sent=_boxes(found, by_place, place))
    boxes = [
        box for sender in by_place if sender != place for box in _boxes(found, by_place, sender) if box.to == place
    ]
    numbers = np.arange(MASKED_LENGTH, dtype=np.uint16) * 1000
    vector = Vector(12, numbers, np.array([5, 2**64 - 1], np.uint64))
    done = party.mask(state, boxes, vector, terms)
    survivors = [0, 1, 3]
    revealed = party.reveal(done.state, survivors, terms)
    return {
        "session": SESSION,
        "terms": terms._asdict(),
        "log_head": _text(EMPTY),
        "identity": _text(bytes(_identity(int(state.device[-1])))),
        "state": {
            "device": state.device,
            "mask_key": _text(state.mask_key),
            "channel_key": _text(state.channel_key),
            "seed": _text(state.seed),
        },
        "members": msgspec.to_builtins(entries),
        "digest": _text(found.digest),
        "boxes": msgspec.to_builtins(boxes),
        "numbers": numbers.tolist(),
        "tail": [str(one) for one in vector.tail],
        "bits": vector.bits,
        "masked": _text(encode_vector(done.vector, found.digest)),
        "survivors": survivors,
        "shares": msgspec.to_builtins(revealed.shares),
    }


def _boxes(found: MemberList, states: Mapping[int, PartyState], sender: int) -> tuple[Box, ...]:
    """Its shares for all others, any three of which give its secrets."""
    state = states[sender]

    def shares(secret: bytes, to: int) -> bytes:
        others = [int.from_bytes(_secret(f"{sender} {power} {secret.hex()}"), "big") for power in (1, 2)]
        return _share([int.from_bytes(secret, "big"), *others], to + 1)

    return tuple(
        Box(
            sender,
            to,
            masks.seal(
                shares(state.seed, to) + shares(state.mask_key, to),
                secret=state.channel_key,
                to=found.members[to].channel,
                digest=found.digest,
            ),
        )
        for to in states
        if to != sender
    )


def _state(number: int) -> PartyState:
    mask_key, channel_key, seed = (_secret(f"{what} {number}") for what in ("mask", "channel", "seed"))
    identity = bytes(_identity(number).verify_key)
    return PartyState(SESSION, f"device-{number}", mask_key, channel_key, seed, identity)


def _identity(number: int) -> SigningKey:
    return SigningKey(_secret(f"identity {number}"))


def _secret(what: str) -> bytes:
    return hashlib.sha256(what.encode()).digest()


def _text(content: bytes) -> str:
    return b64encode(content).decode()
