"""One device's part in a secure sum (Bonawitz et al. 2017, doi 10.1145/3133956.3133982, Figure 4), without I/O.

The device generates keys (`join`); shares its secrets among its neighbours once it has the list of members (`share`);
masks its vector once it knows which of them have shared (`mask`); and reveals shares once it knows whose vectors have
arrived (`reveal`): of the own mask of those who delivered, of the pairwise masks of those who did not, never both of
one device.  Each step returns the next state, which is stored before any message that depends on it is sent. A repeated
request gets the same answer; a different one for the same step is refused.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec
from nacl.signing import SigningKey

from coterie_learning.secure_sum import masks, shamir
from coterie_learning.secure_sum.graph import neighbours_of
from coterie_learning.secure_sum.members import (
    MemberList,
    SessionKeys,
    decode_members,
    encode_members,
    keys_of,
    signed_member,
)
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Vector, masked
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import Box, Member, Share


class PartyState(msgspec.Struct, frozen=True):
    """The device's state in one sum; most of it is secret."""

    session: str
    device: str
    mask_key: bytes
    channel_key: bytes
    seed: bytes
    """Seed of its own mask."""
    identity: bytes
    """The public key that its entry in the list is signed with."""
    members: bytes = b""
    """The list that it has accepted, from `encode_members`."""
    sent: tuple[Box, ...] = ()
    """Its shares for its neighbours."""
    received: tuple[Box, ...] = ()
    """Boxes from its neighbours with whom it shares a mask in its vector."""
    answered: bytes = b""
    """Digest of the survivors for which it has revealed shares."""


class Joined(NamedTuple):
    """The first state, and the entry for the list."""

    state: PartyState
    member: Member


def join(session: str, device: str, identity: SigningKey) -> Joined:
    """Generate the secrets for the sum `session`."""
    mask_key, channel_key, seed = (secrets.token_bytes(32) for _ in range(3))
    state = PartyState(session, device, mask_key, channel_key, seed, bytes(identity.verify_key))
    return Joined(state, entry(state, identity))


def entry(state: PartyState, identity: SigningKey) -> Member:
    """The device's entry for the list, the same each time."""
    return signed_member(state.session, state.device, identity, _session_keys(state))


def share(state: PartyState, found: MemberList, terms: SumTerms) -> PartyState:
    """Accept the list, and encrypt shares for the neighbours in `sent`.

    Raises WireError ``secure_sum.wrong_list`` where the device's keys are not in it, or it has accepted another list;
    ``secure_sum.too_few``, or ``secure_sum.wrong_key``.
    """
    members = encode_members(found)
    if state.members:
        if state.members != members:
            raise WireError("secure_sum.wrong_list", "another list of members was accepted before")
        return state
    place = _own_place(state, found)
    neighbours, threshold = _neighbourhood(found, place, terms)
    points = [other + 1 for other in neighbours]
    of_seed = shamir.split(state.seed, threshold=threshold, points=points)
    of_key = shamir.split(state.mask_key, threshold=threshold, points=points)
    sent = tuple(
        Box(
            place,
            other,
            masks.seal(
                of_seed[other + 1] + of_key[other + 1],
                secret=state.channel_key,
                to=found.members[other].channel,
                digest=found.digest,
            ),
        )
        for other in neighbours
    )
    return msgspec.structs.replace(state, members=members, sent=sent)


class Masked(NamedTuple):
    """The next state, and the vector that may leave."""

    state: PartyState
    vector: Vector


def mask(state: PartyState, boxes: Sequence[Box], vector: Vector, terms: SumTerms) -> Masked:
    """`vector` under the own mask and the pairwise masks with the senders of `boxes`.

    This is done only once: a second vector under the same masks would reveal the difference from the first. A box that
    cannot be opened does not stop the sum: the sender's mask follows from the list, and others have its shares. It does
    not count towards the neighbours that have provably accepted the same list. Raises WireError
    ``secure_sum.out_of_order``, ``secure_sum.wrong_box``, or ``secure_sum.too_few_shared`` where these are too few.
    """
    if not state.members or state.received:
        raise WireError("secure_sum.out_of_order", "vectors are masked once, after shares were sent")
    found = decode_members(state.session, state.members)
    place = _own_place(state, found)
    neighbours, threshold = _neighbourhood(found, place, terms)
    senders = sorted(box.sender for box in boxes)
    if len(set(senders)) < len(senders) or not set(senders) <= set(neighbours):
        raise WireError("secure_sum.wrong_box", "boxes came twice or from others than neighbours")
    shared = len(_opened(state, found, boxes))
    if shared < threshold:
        detail = f"{shared} of {len(neighbours)} neighbours have shared, and {threshold} are needed"
        raise WireError("secure_sum.too_few_shared", detail)
    pairs = {other: masks.pair_seed(state.mask_key, found.members[other].mask, found.digest) for other in senders}
    return Masked(
        msgspec.structs.replace(state, received=tuple(boxes)),
        masked(vector, own=state.seed, added=_after(place, pairs), subtracted=_before(place, pairs)),
    )


class Revealed(NamedTuple):
    """The next state, and the shares that may leave."""

    state: PartyState
    shares: tuple[Share, ...]


def reveal(state: PartyState, survivors: Sequence[int], terms: SumTerms) -> Revealed:
    """Shares to unmask the sum of the vectors of `survivors`, given by their places in the list.

    Raises WireError ``secure_sum.out_of_order``, ``secure_sum.wrong_survivors`` where it has answered for other
    survivors before or its own vector is not included, or ``secure_sum.too_few``.
    """
    if not state.received:
        raise WireError("secure_sum.out_of_order", "shares are revealed after the vector was masked")
    found = decode_members(state.session, state.members)
    place, alive = _own_place(state, found), set(survivors)
    if list(survivors) != sorted(alive) or not alive <= set(range(len(found.members))) or place not in alive:
        raise WireError("secure_sum.wrong_survivors", "the survivors are no part of the list with this device in it")
    if len(alive) < terms.fewest:
        detail = f"{len(alive)} vectors would be summed, and the plan promises at least {terms.fewest}"
        raise WireError("secure_sum.too_few", detail)
    _, threshold = _neighbourhood(found, place, terms)
    opened = _opened(state, found, state.received)
    if sum(sender in alive for sender in opened) < threshold:
        raise WireError("secure_sum.too_few", f"fewer than {threshold} of this device's neighbours have delivered")
    answered = survivors_digest(found, survivors)
    if state.answered not in (b"", answered):
        raise WireError("secure_sum.wrong_survivors", "shares were revealed for other survivors before")
    return Revealed(
        msgspec.structs.replace(state, answered=answered),
        tuple(_share(sender, shares, sender in alive) for sender, shares in opened.items()),
    )


def survivors_digest(found: MemberList, survivors: Sequence[int]) -> bytes:
    """SHA-256 [32 bytes] of the survivors whose vectors are summed."""
    return hashlib.sha256(found.digest + msgspec.json.encode(list(survivors))).digest()


def _share(owner: int, shares: bytes, has_delivered: bool) -> Share:
    of_seed, of_key = shares[: shamir.SHARE_BYTES], shares[shamir.SHARE_BYTES :]
    return Share(owner, "own_mask", of_seed) if has_delivered else Share(owner, "pair_masks", of_key)


def _opened(state: PartyState, found: MemberList, boxes: Sequence[Box]) -> Mapping[int, bytes]:
    """The two shares in each box that can be opened, by its sender."""
    opened: dict[int, bytes] = {}
    for box in boxes:
        sender = found.members[box.sender].channel
        with suppress(WireError):
            opened[box.sender] = masks.unseal(box.content, secret=state.channel_key, sender=sender, digest=found.digest)
    return opened


def _own_place(state: PartyState, found: MemberList) -> int:
    place = found.place_of(state.device)
    member = found.members[place]
    if found.session != state.session or (member.identity, keys_of(member)) != (state.identity, _session_keys(state)):
        raise WireError("secure_sum.wrong_list", "the list has other keys of this device than it sent")
    return place


def _session_keys(state: PartyState) -> SessionKeys:
    return SessionKeys(
        masks.public_key(state.mask_key), masks.public_key(state.channel_key), masks.commitment(state.seed)
    )


def _neighbourhood(found: MemberList, place: int, terms: SumTerms) -> tuple[Sequence[int], int]:
    graph = terms.graph(len(found.members))
    seed = int.from_bytes(found.digest, "big")
    return neighbours_of(place, len(found.members), graph.neighbours, seed), graph.threshold


def _after(place: int, pairs: Mapping[int, bytes]) -> list[bytes]:
    return [seed for other, seed in pairs.items() if other > place]


def _before(place: int, pairs: Mapping[int, bytes]) -> list[bytes]:
    return [seed for other, seed in pairs.items() if other < place]
