"""People who go to places: eight kinds, a week's routine each, kept more or less, for ten weeks.

Most commute on weekdays, some work in shifts; gym days, lunches and evenings are a person's own. Where a routine is not
kept, any of the person's places may come. A day is never divided: the newest weeks are the test.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Person, Samples, divided

PLACES = ("home", "work", "food", "shop", "sport", "friends", "travel", "out")
HOME, WORK, FOOD, SHOP, SPORT, FRIENDS, TRAVEL, OUT = range(8)
WEEKS, DAYS = 10, 7
LAST = 3
"""Places before, the newest first, that are known."""
FEATURES = 4 + LAST * len(PLACES)
SHIFT_SHARE = 0.15
REGULARITY = (0.6, 0.95)
"""A person's chance, uniform between them, of going where its routine says."""


class Visit(NamedTuple):
    """One visit; only its kind, weekday and hour count."""

    place: int
    weekday: int
    """0 is Monday."""
    hour: float


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    routine = _routine(rng)
    regularity = rng.uniform(*REGULARITY)
    favourites = rng.dirichlet(np.full(len(PLACES), 0.8))
    visits = []
    for _ in range(WEEKS):
        for day in routine:
            for planned in day:
                place = planned.place if rng.random() < regularity else int(rng.choice(len(PLACES), p=favourites))
                visits.append(planned._replace(place=place, hour=(planned.hour + rng.normal(0, 0.5)) % 24))
    return divided(samples_of(visits))


def samples_of(visits: Sequence[Visit]) -> Samples:
    """A sample for each visit that three others come before.

    float32 [28]: sine and cosine of the hour and of the time of the week, and the places before, one-hot.
    """
    rows = [_features(visits, place) for place in range(LAST, len(visits))]
    labels = np.array([visit.place for visit in visits[LAST:]], np.int64)
    return Samples(np.array(rows, np.float32).reshape(len(rows), FEATURES), labels)


def _features(visits: Sequence[Visit], place: int) -> NDArray[np.float32]:
    visit = visits[place]
    day, week = 2 * np.pi * visit.hour / 24, 2 * np.pi * (visit.weekday + visit.hour / 24) / DAYS
    row = np.zeros(FEATURES, np.float32)
    row[:4] = np.sin(day), np.cos(day), np.sin(week), np.cos(week)
    for back in range(LAST):
        row[4 + back * len(PLACES) + visits[place - 1 - back].place] = 1
    return row


def _routine(rng: np.random.Generator) -> list[list[Visit]]:
    """By weekday, the visits in the order of the day."""
    begins = float(rng.choice([6, 14, 22])) if rng.random() < SHIFT_SHARE else float(rng.normal(8.5, 0.7))
    lunch = int(rng.choice([FOOD, HOME, SHOP, SPORT], p=[0.6, 0.15, 0.15, 0.1]))
    gym = set(rng.choice(DAYS, int(rng.integers(0, 4)), replace=False).tolist())
    rests = {5, 6} if begins == np.clip(begins, 7, 11) else set(rng.choice(DAYS, 2, replace=False).tolist())
    evenings = rng.choice([SHOP, FRIENDS, OUT, FOOD, TRAVEL], DAYS, p=[0.35, 0.2, 0.15, 0.2, 0.1]).tolist()
    week = []
    for weekday in range(DAYS):
        plan = [(8.0, HOME)] if weekday in rests else [(begins, WORK), (begins + 4, lunch), (begins + 5, WORK)]
        if weekday in rests:
            plan += [(11.0, int(rng.choice([SHOP, SPORT, FRIENDS, TRAVEL]))), (14.0, FOOD)]
        if weekday in gym:
            plan.append((begins + 9.5, SPORT))
        plan += [(begins + 10.5, evenings[weekday]), (begins + 13, HOME)]
        week.append([Visit(place, weekday, hour % 24) for hour, place in plan])
    return week
