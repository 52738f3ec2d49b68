"""People of a user's own, read in a recipe's format."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from coterie.recipes.errors import TooFewPeople, UnreadableUserData
from coterie_recipes import Recipe
from coterie_recipes.recipe import Person, UnreadableData

FEWEST_SAMPLES = 10
"""Of a person, to train on; people with fewer are left out."""
FEWEST_PEOPLE = 2
ONE_IN = 5
"""One in so many takes no part, so that it is seen what new people get."""


class Population(NamedTuple):
    """Who takes part, and who does not."""

    taking_part: Mapping[str, Person]
    new: Sequence[Person]
    left_out: int
    """People with too few samples."""


def read_people(recipe: Recipe, path: Path) -> Population:
    """The people whose data are at `path`. Raises UnreadableUserData or TooFewPeople."""
    try:
        read = recipe.read(path)
    except UnreadableData as error:
        raise UnreadableUserData(detail=str(error)) from error
    enough = {name: one for name, one in read.items() if _has_enough(one)}
    names = sorted(enough)
    new = names[ONE_IN - 1 :: ONE_IN] or names[-1:]
    taking_part = {name: enough[name] for name in names if name not in new}
    if len(taking_part) < FEWEST_PEOPLE:
        raise TooFewPeople(people=len(enough), needed=FEWEST_PEOPLE + 1, samples=FEWEST_SAMPLES)
    return Population(taking_part, [enough[name] for name in new], len(read) - len(enough))


def _has_enough(person: Person) -> bool:
    return person.trained_on >= FEWEST_SAMPLES and len(person.train.y) > 0 and len(person.test.y) > 0
