"""People as two organisations know them, drawn from a seed.

Eight traits that nobody sees decide what somebody needs. The bank's columns tell of the first five, the insurer's of
the last five, each as noisy mixtures that bend; either can guess, and only both together see what decides. A trap: the
tables are not in one order, and a quarter of the people in either are not in the other one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Float32, Int64

CLASSES = ("nothing", "home", "travel", "car", "health", "pension", "liability", "business")
BANK_COLUMNS = 12
INSURER_COLUMNS = 10
_TRAITS = 8
_SEEN = 5
_WORLD = 2026
"""What needs follow from traits does not differ between populations."""


class Party(NamedTuple):
    """One organisation's table."""

    identifiers: tuple[str, ...]
    columns: Float32
    """[people, columns]"""


class Population(NamedTuple):
    """What the two organisations have."""

    bank: Party
    insurer: Party
    needs: Int64
    """Of the insurer's customers, a class each."""


def draw_population(seed: int, *, common: int = 1500, apart: int = 500) -> Population:
    """`common` customers of both, and `apart` more of either; neither table is in the order of the other."""
    world, own = np.random.default_rng(_WORLD), np.random.default_rng(seed)
    people = common + 2 * apart
    traits = own.standard_normal((people, _TRAITS))
    needs = _needs(world, traits, own)
    names = [f"customer-{number:06d}" for number in own.permutation(1_000_000)[:people]]
    bank = _columns(world, traits[:, :_SEEN], BANK_COLUMNS, own)
    insurer = _columns(world, traits[:, -_SEEN:], INSURER_COLUMNS, own)
    at_bank = own.permutation(np.arange(common + apart))
    at_insurer = own.permutation(np.r_[np.arange(common), np.arange(common + apart, people)])
    return Population(
        Party(tuple(names[one] for one in at_bank), bank[at_bank]),
        Party(tuple(names[one] for one in at_insurer), insurer[at_insurer]),
        needs[at_insurer],
    )


def _needs(world: np.random.Generator, traits: NDArray[np.float64], own: np.random.Generator) -> Int64:
    """The greatest of eight wishes, which come of all traits together."""
    directions, _ = np.linalg.qr(world.standard_normal((_TRAITS, len(CLASSES))))
    wishes = np.tanh(traits @ directions)
    wishes += 0.1 * own.standard_normal(wishes.shape)
    needs: Int64 = wishes.argmax(axis=1).astype(np.int64)
    return needs


def _columns(world: np.random.Generator, traits: NDArray[np.float64], count: int, own: np.random.Generator) -> Float32:
    mixed = traits @ world.standard_normal((traits.shape[1], count)) * 0.7
    bent = mixed + 0.3 * np.sin(2 * mixed)
    return (bent + 0.1 * own.standard_normal(bent.shape)).astype(np.float32)
