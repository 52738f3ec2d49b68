from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie.recipes.errors import TooFewPeople, UnreadableUserData
from coterie.recipes.users import read_people
from coterie_recipes import Recipe, load
from coterie_recipes.messages.generator import person_of
from coterie_recipes.recipe import Person, Samples, UnreadableData, divided


def recipe_of(people: Mapping[str, int]) -> Recipe:
    """Whose reader finds people with so many samples each."""

    def read(_: Path) -> dict[str, Person]:
        return {
            name: divided(Samples(np.zeros((n, 6), np.float32), np.zeros(n, np.int64))) for name, n in people.items()
        }

    return replace(load("tabular"), read=read)


def test_one_in_five_takes_no_part_and_who_has_little_is_left_out() -> None:
    found = read_people(recipe_of({**{f"p{number}": 40 for number in range(10)}, "q": 3}), Path())
    assert sorted(found.taking_part) == ["p0", "p1", "p2", "p3", "p5", "p6", "p7", "p8"]
    assert (len(found.new), found.left_out) == (2, 1)


def test_samples_without_a_label_count_but_nobody_takes_part_without_one() -> None:
    """Of a recipe that pre-trains."""

    def read(_: Path) -> dict[str, Person]:
        said = {"ann": 5, "bob": 5, "cat": 5, "dan": 0}
        return {
            name: person_of([[9]] * 40, np.zeros(40, np.int64), np.arange(40) < count) for name, count in said.items()
        }

    found = read_people(replace(load("messages"), read=read), Path())
    assert sorted(found.taking_part) == ["ann", "bob"]
    assert (len(found.new), found.left_out) == (1, 1)


def test_of_few_people_the_last_takes_no_part() -> None:
    found = read_people(recipe_of({"a": 40, "b": 40, "c": 40}), Path())
    assert sorted(found.taking_part) == ["a", "b"]
    with pytest.raises(TooFewPeople, match="bring data of 3"):
        read_people(recipe_of({"a": 40, "b": 40}), Path())


def test_what_cannot_be_read_is_told() -> None:
    def read(_: Path) -> dict[str, Person]:
        raise UnreadableData("line 3: 'x' is not a number")

    with pytest.raises(UnreadableUserData, match="line 3"):
        read_people(replace(load("tabular"), read=read), Path())
