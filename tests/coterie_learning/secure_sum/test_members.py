"""A list has one order and one digest, and nobody in it twice or under keys that are not his."""

import random

import msgspec
import pytest
from nacl.signing import SigningKey

from coterie_learning.secure_sum import masks, party
from coterie_learning.secure_sum.identities import EMPTY
from coterie_learning.secure_sum.members import (
    SessionKeys,
    check_member,
    decode_members,
    encode_members,
    member_list,
    signed_member,
)
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import MOST_MEMBERS, Member

IDENTITIES = [SigningKey(bytes([number] * 32)) for number in range(1, 7)]


def entry(number: int, session: str = "s", *, device: str | None = None, **keys: bytes) -> Member:
    own = SessionKeys(
        masks.public_key(bytes([50 + number] * 32)),
        masks.public_key(bytes([150 + number] * 32)),
        masks.commitment(bytes([number] * 32)),
    )
    return signed_member(session, device or f"device-{number}", IDENTITIES[number], own._replace(**keys))


MEMBERS = [entry(number) for number in range(5)]


def test_the_order_in_which_they_joined_does_not_matter() -> None:
    shuffled = random.Random(1).sample(MEMBERS, len(MEMBERS))
    one, other = member_list("s", MEMBERS, EMPTY), member_list("s", shuffled, EMPTY)
    assert one == other
    assert [member.mask for member in one.members] == sorted(member.mask for member in MEMBERS)
    assert one.members[one.place_of("device-3")] == MEMBERS[3]


def test_the_digest_changes_with_whatever_is_in_it() -> None:
    digests = {member_list("s", MEMBERS, EMPTY).digest, member_list("s", MEMBERS[1:], EMPTY).digest}
    digests.add(member_list("t", [entry(number, "t") for number in range(5)], EMPTY).digest)
    for change in (
        {"mask": masks.public_key(bytes(32))},
        {"channel": masks.public_key(bytes(32))},
        {"commitment": b"c" * 32},
    ):
        digests.add(member_list("s", [entry(0, **change), *MEMBERS[1:]], EMPTY).digest)
    digests.add(member_list("s", [entry(0, device="other"), *MEMBERS[1:]], EMPTY).digest)
    assert len(digests) == 7


def test_it_survives_being_stored() -> None:
    found = member_list("s", MEMBERS, EMPTY)
    assert decode_members("s", encode_members(found)) == found
    with pytest.raises(WireError) as caught:
        decode_members("s", b"[1]")
    assert caught.value.code == "secure_sum.malformed"


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        (MEMBERS[2], "secure_sum.wrong_list"),
        (entry(5, device="device-2"), "secure_sum.wrong_list"),
        (entry(5, mask=MEMBERS[2].mask), "secure_sum.wrong_list"),
        (entry(5, channel=MEMBERS[2].channel), "secure_sum.wrong_list"),
        (msgspec.structs.replace(entry(5), identity=MEMBERS[2].identity), "secure_sum.wrong_list"),
        (msgspec.structs.replace(entry(5), commitment=bytes(32)), "secure_sum.wrong_signature"),
        (msgspec.structs.replace(entry(5), device="another"), "secure_sum.wrong_signature"),
        (msgspec.structs.replace(entry(5), signature=bytes(64)), "secure_sum.wrong_signature"),
        (entry(5, "another session"), "secure_sum.wrong_signature"),
        (entry(5, mask=bytes(32)), "secure_sum.wrong_key"),
        (entry(5, channel=b"\1" + bytes(31)), "secure_sum.wrong_key"),
    ],
)
def test_what_is_refused(extra: Member, code: str) -> None:
    with pytest.raises(WireError) as caught:
        member_list("s", [*MEMBERS, extra], EMPTY)
    assert caught.value.code == code


def test_a_signature_is_of_one_session_and_device_whatever_their_names() -> None:
    """A line break moves from one name to the other."""
    member = entry(5, "a\nb", device="c")
    check_member("a\nb", member)
    with pytest.raises(WireError):
        check_member("a", msgspec.structs.replace(member, device="b\nc"))


def test_so_many_do_not_fit_into_a_message() -> None:
    with pytest.raises(WireError) as caught:
        member_list("s", MEMBERS[:1] * (MOST_MEMBERS + 1), EMPTY)
    assert caught.value.code == "secure_sum.wrong_list"


def test_who_is_not_in_it_has_no_place() -> None:
    with pytest.raises(WireError) as caught:
        member_list("s", MEMBERS, EMPTY).place_of("stranger")
    assert caught.value.code == "secure_sum.wrong_list"


def test_secrets_are_drawn_anew_for_each_sum() -> None:
    one, other = (party.join("s", "device", IDENTITIES[0]) for _ in range(2))
    drawn = [secret for state in (one.state, other.state) for secret in (state.mask_key, state.channel_key, state.seed)]
    assert len(set(drawn)) == 6
    assert not {one.state.mask_key, one.state.channel_key, one.state.seed} & set(msgspec.structs.astuple(one.member))
