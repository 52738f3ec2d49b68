"""Any threshold of shares gives the secret, fewer tell nothing, and a share of another secret is told from them."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.secure_sum.shamir import PRIME, SHARE_BYTES, Polynomial, join, split
from coterie_wire.errors import WireError

SECRET = hashlib.sha256(b"\0").digest()
GOLDEN = {
    1: "0095ead29534f8b3eb2fded1480e82c6116fe685c6e338e265a8556fdaf38cbe14",
    2: "007525031f6c3db65871cf18f4edfd89f8b329a9b00fb6d4e7628711e098198cc5",
    3: "000be29d3ba58281e062761bed59e855e2425988fb38b10ffbb3a6891705560c30",
    2500: "00268e1a7b4b20ea860502ec6066a99964c0f52277d9048f716202d47d2a44a3c6",
}
"""Of the polynomial whose coefficients are the SHA-256 of the bytes 0, 1 and 2, computed term by term."""


def test_golden_shares() -> None:
    shares = {point: bytes.fromhex(share) for point, share in GOLDEN.items()}
    assert join({point: shares[point] for point in (1, 2, 3)}) == SECRET
    assert join({point: shares[point] for point in (2, 3, 2500)}) == SECRET
    assert Polynomial.through({point: shares[point] for point in (1, 2, 3)}).passes(2500, shares[2500])


def test_the_field_is_of_the_smallest_prime_above_all_secrets() -> None:
    assert _is_prime(PRIME)
    assert not any(_is_prime(number) for number in range(2**256, PRIME))


def _is_prime(number: int) -> bool:
    """Miller-Rabin with the first twenty primes as bases."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71):
        power = pow(base, odd, number)
        if power not in (1, number - 1) and all(pow(power, 2**twice, number) != number - 1 for twice in range(1, twos)):
            return False
    return True


@given(
    secret=st.binary(min_size=32, max_size=32) | st.sampled_from([bytes(32), b"\xff" * 32]),
    points=st.lists(st.integers(1, 2500), min_size=1, max_size=12, unique=True),
    data=st.data(),
)
@settings(max_examples=60)
def test_any_threshold_of_shares_give_the_secret(secret: bytes, points: list[int], data: st.DataObject) -> None:
    threshold = data.draw(st.integers(1, len(points)))
    shares = split(secret, threshold=threshold, points=points)
    assert all(len(share) == SHARE_BYTES for share in shares.values())
    chosen = data.draw(st.permutations(points))
    used, rest = chosen[:threshold], chosen[threshold:]
    assert join({point: shares[point] for point in used}) == secret
    assert join(shares) == secret
    polynomial = Polynomial.through({point: shares[point] for point in used})
    assert all(polynomial.passes(point, shares[point]) for point in (*used, *rest))
    for point in chosen:
        wrong = (int.from_bytes(shares[point], "big") ^ 1).to_bytes(SHARE_BYTES, "big")
        assert not polynomial.passes(point, wrong)


@pytest.mark.parametrize("secret", [bytes(32), b"\xff" * 32])
def test_fewer_shares_are_distributed_alike_whatever_the_secret(secret: bytes) -> None:
    """Two of three shares: low bytes, high bytes and the sum of both are uniform (chi-squared)."""
    count = 20_000
    drawn = [split(secret, threshold=3, points=[1, 2]) for _ in range(count)]
    low, high = (np.array([share[1][at] for share in drawn]) for at in (-1, 1))
    both = np.array([(share[1][-1] + share[2][-1]) % 256 for share in drawn])
    for bytes_ in (low, high, both):
        counts = np.bincount(bytes_, minlength=256)
        assert ((counts - count / 256) ** 2 / (count / 256)).sum() < 400  # 255 degrees: 377 at 1e-6


def test_fewer_shares_fit_every_secret() -> None:
    shares = split(SECRET, threshold=3, points=[4, 9])
    for other in (bytes(32), b"\xff" * 32):
        whole = Polynomial.through({**shares, PRIME: b"\0" + other})  # the point 0, by another name
        third = whole.at(17).to_bytes(SHARE_BYTES, "big")
        assert join({**shares, 17: third}) == other


def test_shares_of_no_secret_are_refused() -> None:
    with pytest.raises(WireError) as caught:
        join({1: (2**256).to_bytes(SHARE_BYTES, "big")})
    assert caught.value.code == "secure_sum.wrong_share"
