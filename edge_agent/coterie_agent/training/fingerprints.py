"""What a device tells the platform of an update that a supernode holds, so that no sum of it can be altered."""

import math
from contextlib import nullcontext

from coterie_learning.device_plan import parse_device_plan
from coterie_learning.fold import CountedUpdate, partial_aggregate
from coterie_learning.partial_sums import Fingerprint, fingerprint
from coterie_learning.update_files import Contents
from coterie_wire.bundle import verify_manifest
from coterie_wire.errors import WireError
from coterie_wire.messages import Assignment, OfferUpdate
from coterie_wire.relaying import Route, SignedReceipt, verify_receipt
from coterie_wire.tensor_files import InMemory

SAME_NORM = 1e-6
"""By which two machines' norms of one update may differ."""


def fingerprints_of(
    assignment: Assignment,
    payload: bytes,
    offer: OfferUpdate,
    route: Route,
    signed: SignedReceipt,
    platform_keys: tuple[bytes, ...],
) -> tuple[Fingerprint, ...] | None:
    """The update's fingerprint for the platform, and those for supernodes further up, by tier.

    None: the receipt is not the supernode's, or not for it, or says otherwise of it.

    Raises WireError where the assignment cannot be read.
    """
    plan = parse_device_plan(assignment.plan)
    model = verify_manifest(assignment.manifest, *platform_keys).model
    try:
        receipt = verify_receipt(signed, route.key)
    except WireError:
        return None
    file = Contents(model, plan.codec, plan.local).open(InMemory(payload), offer.classes)
    mine = (assignment.assignment, offer.sha256, route.epoch)
    if (receipt.assignment, receipt.sha256, receipt.epoch) != mine:
        return None
    if not math.isclose(receipt.norm, file.extent().norm, rel_tol=SAME_NORM, abs_tol=SAME_NORM):
        return None
    sums = partial_aggregate(model.parameters, [CountedUpdate(lambda: nullcontext(file), 1)], parts=plan.local.parts)
    return tuple(fingerprint(seed, sums.items()) for seed in (route.check_seed, *route.tier_seeds))
