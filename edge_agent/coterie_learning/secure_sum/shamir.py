"""Shamir secret sharing: any `threshold` shares recover a secret, and fewer reveal nothing.

Shamir 1979, doi 10.1145/359168.359176. The field is that of the integers modulo 2^256 + 297, the smallest prime above
all secrets of 32 bytes.
"""

import secrets
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from coterie_wire.errors import WireError

PRIME = 2**256 + 297
SECRET_BYTES = 32
SHARE_BYTES = 33


def split(secret: bytes, *, threshold: int, points: Sequence[int]) -> Mapping[int, bytes]:
    """A share [33 bytes] of `secret` [32 bytes] at each of `points`, which are positive and distinct."""
    polynomial = [int.from_bytes(secret, "big"), *(secrets.randbelow(PRIME) for _ in range(threshold - 1))]
    return {point: _at(polynomial, point).to_bytes(SHARE_BYTES, "big") for point in points}


def join(shares: Mapping[int, bytes]) -> bytes:
    """The secret [32 bytes] from at least the threshold of `shares`, by point; wrong shares give an arbitrary number.

    Raises WireError ``secure_sum.wrong_share`` where the result is not a secret.
    """
    return Polynomial.through(shares).secret()


class Polynomial(NamedTuple):
    """The polynomial of least degree through some shares."""

    values: Mapping[int, int]
    """Values at the points of these shares."""
    weights: Mapping[int, int]
    """Weights of the barycentric formula: one over the product of the differences from all other points."""

    @classmethod
    def through(cls, shares: Mapping[int, bytes]) -> "Polynomial":
        """The polynomial through `shares` by point; points are positive."""
        values = {point: int.from_bytes(share, "big") for point, share in shares.items()}
        differences = {point: prod(point - other for other in values if other != point) for point in values}
        return cls(values, {point: pow(difference, -1, PRIME) for point, difference in differences.items()})

    def secret(self) -> bytes:
        """Its value at zero [32 bytes]. Raises WireError ``secure_sum.wrong_share`` where that is not a secret."""
        secret = self.at(0)
        if secret >> (8 * SECRET_BYTES):
            raise WireError("secure_sum.wrong_share", "the shares are of no secret")
        return secret.to_bytes(SECRET_BYTES, "big")

    def passes(self, point: int, share: bytes) -> bool:
        """Whether `share` at `point` lies on the polynomial."""
        return self.at(point) == int.from_bytes(share, "big") % PRIME

    def at(self, place: int) -> int:
        """Its value modulo the prime."""
        if place in self.values:
            return self.values[place] % PRIME
        distances = {point: place - point for point in self.values}
        whole = prod(distances.values())
        return (
            sum(
                value * self.weights[point] % PRIME * (whole // distances[point])
                for point, value in self.values.items()
            )
            % PRIME
        )


def _at(polynomial: Sequence[int], point: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * point + coefficient) % PRIME
    return value
