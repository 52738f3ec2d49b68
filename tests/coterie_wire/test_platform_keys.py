"""Devices take over the key that the one they trust has named, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_wire.bundle import SignedManifest, verify_key_of
from coterie_wire.errors import WireError
from coterie_wire.platform_keys import PlatformKeys, sign_next_key

SEEDS = [bytes([number]) * 32 for number in range(1, 7)]
KEYS = [verify_key_of(seed) for seed in SEEDS]
UNTIL = 1000.0


def statement(former: int, following: int, *, until: float = UNTIL) -> SignedManifest:
    return sign_next_key(KEYS[following], former_until=until, signing_key=SEEDS[former])


def test_the_named_key_takes_the_place_of_the_one_that_names_it() -> None:
    keys = PlatformKeys(KEYS[0]).follow([statement(0, 1)])
    assert keys.current == KEYS[1]
    assert keys.trusted(at=UNTIL - 1) == (KEYS[1], KEYS[0])
    assert keys.trusted(at=UNTIL) == (KEYS[1],)
    assert keys.pinned() == (KEYS[1], KEYS[0])


def test_a_leaked_key_is_refused_at_once() -> None:
    assert PlatformKeys(KEYS[0]).follow([statement(0, 1, until=0)]).trusted(at=0) == (KEYS[1],)


@given(length=st.integers(0, 5), known=st.integers(0, 5))
def test_any_part_of_the_chain_that_goes_on_from_the_trusted_key_leads_to_its_end(length: int, known: int) -> None:
    chain = [statement(number, number + 1) for number in range(length)]
    keys = PlatformKeys(KEYS[0]).follow(chain[:known])
    assert keys.follow(chain) == PlatformKeys(KEYS[0]).follow(chain)
    assert keys.follow(chain).current == KEYS[length]


@pytest.mark.parametrize(
    "chain", [[statement(2, 3)], [statement(1, 2)], [statement(0, 1), statement(2, 3)]], ids=["other", "later", "gap"]
)
def test_a_key_that_the_trusted_one_has_not_named_is_refused(chain: list[SignedManifest]) -> None:
    with pytest.raises(WireError) as error:
        PlatformKeys(KEYS[0]).follow(chain)
    assert error.value.code == "bundle.bad_signature"


def test_a_key_that_was_given_up_names_no_other() -> None:
    keys = PlatformKeys(KEYS[0]).follow([statement(0, 1)])
    assert keys.follow([statement(0, 4)]) == keys
