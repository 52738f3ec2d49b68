"""Foursquare check-ins as in the data set TSMC2014 (Yang et al. 2015): tab-separated lines, eight columns, no header.

User, venue, category's identifier, category's name, latitude, longitude, offset of the local time in minutes, and the
time in UTC. Check-ins are not visits: what people do not tell, such as being at home, is missing, and not at random.
"""

import csv
from datetime import datetime, timedelta
from pathlib import Path

from coterie_recipes.place.generator import FOOD, FRIENDS, HOME, OUT, SHOP, SPORT, TRAVEL, WORK, Visit, samples_of
from coterie_recipes.recipe import Read, UnreadableData, divided
from coterie_recipes.tables import number

TIME = "%a %b %d %H:%M:%S %z %Y"
COLUMNS = 8
KINDS = (
    (HOME, ("home", "residential", "housing")),
    (WORK, ("office", "building", "school", "university", "college", "factory", "medical", "government")),
    (SPORT, ("gym", "stadium", "athletic", "sport", "park", "pool", "playground", "outdoors")),
    (
        TRAVEL,
        ("station", "airport", "bus", "train", "road", "bridge", "ferry", "subway", "travel", "hotel", "rail"),
    ),
    (FRIENDS, ("neighborhood", "community", "church", "temple", "synagogue", "mosque", "social")),
    (FOOD, ("restaurant", "food", "café", "cafe", "coffee", "bakery", "deli", "pizza", "burger", "diner", "breakfast")),
    (SHOP, ("store", "shop", "mall", "market", "bank", "salon", "laundry", "gas", "service", "drugstore")),
)
"""The first kind one of whose words a category's name has; all others are ``out``."""


def read(path: Path) -> Read:
    """By user, a sample for each check-in but the first three, in the order of time. Raises UnreadableData."""
    visits: dict[str, list[tuple[datetime, Visit]]] = {}
    try:
        with path.open(newline="", encoding="latin-1") as file:  # as the data set is
            for line, fields in enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
                at = f"{path}, line {line}"
                if len(fields) != COLUMNS:
                    raise UnreadableData(f"{at}: {len(fields)} columns, separated by tabs; expected {COLUMNS}")
                time = _local_time(fields[7], number(fields[6], at=at), at)
                visit = Visit(kind_of(fields[3]), time.weekday(), time.hour + time.minute / 60)
                visits.setdefault(fields[0], []).append((time, visit))
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror or error}") from error
    if not visits:
        raise UnreadableData(f"{path} is empty")
    return {
        user: divided(samples_of([visit for _, visit in sorted(told, key=lambda one: one[0])]))
        for user, told in visits.items()
    }


def kind_of(category: str) -> int:
    """Of a venue, by its category's name."""
    name = category.lower()
    return next((kind for kind, words in KINDS if any(word in name for word in words)), OUT)


def _local_time(text: str, offset_min: float, at: str) -> datetime:
    try:
        return datetime.strptime(text, TIME) + timedelta(minutes=offset_min)
    except (ValueError, OverflowError) as error:
        raise UnreadableData(f"{at}: {text[:40]!r} is not a time as Tue Apr 03 18:00:09 +0000 2012") from error
