"""The tree in which sums of supernodes meet on their way to the platform: who sends to whom, and what failures ask for.

Pure functions of what the platform's rows say, so that a simulation runs what production runs. A tree is grown once in
a round, tier by tier from the sites up; after that it only loses branches, each of which then goes to the platform, so
that every round ends. After the aggregators of Bonawitz et al. 2019, "Towards federated learning at scale" (MLSys), §4.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

Name = str
"""Of a device."""


class Offering(NamedTuple):
    """A device that takes sums of others."""

    name: Name
    room: int
    """Sums that it takes at most."""
    score: float


class Branch(NamedTuple):
    """Where a supernode's sum goes, and why."""

    parent: Name | None
    """None: to the platform."""
    tier: int
    """0: it sums updates alone; n: it is the supernode of a group of tier n, and checks sums by the seed of that."""
    why: Literal["grouped", "top", "no_tag", "nobody", "full", "alone", "unchecked"]
    group: str = ""
    """The tag of those that meet."""


def grown(
    leaves: Iterable[Name],
    offering: Iterable[Offering],
    tags: Mapping[Name, Sequence[str]],
    tiers: Sequence[str],
    *,
    unchecked: frozenset[Name] = frozenset(),
) -> Mapping[Name, Branch]:
    """The branches of supernodes that hold updates, and of those that take sums of others.

    Those in `unchecked` hold updates without fingerprints of all tiers: their sums go to the platform.
    """
    branches = {name: Branch(None, 0, "unchecked" if name in unchecked else "top") for name in leaves}
    known = sorted(offering, key=lambda one: (-one.score, one.name))
    below = sorted(branches.keys() - unchecked)
    for tier, prefix in enumerate(tiers, start=1):
        groups: defaultdict[str, list[Name]] = defaultdict(list)
        for name in below:
            tag = _tag(tags.get(name, ()), prefix)
            if tag is None:
                branches[name] = branches[name]._replace(why="no_tag", group=prefix)
            else:
                groups[tag].append(name)
        for tag, names in sorted(groups.items()):
            free = [
                one
                for one in known
                if _tag(tags.get(one.name, ()), prefix) == tag
                and one.name not in unchecked
                and (one.name not in branches or branches[one.name].parent is None)
            ]
            below = [name for name in below if name not in names] + _gathered(branches, free, names, tier, tag)
    return branches


def _gathered(
    branches: dict[Name, Branch], free: Sequence[Offering], names: list[Name], tier: int, tag: str
) -> list[Name]:
    """Have the sums of one group meet; who is left at its top."""
    if not free:
        for name in names:
            branches[name] = branches[name]._replace(why="nobody", group=tag)
        return names
    best = free[0]
    own = [best.name] if best.name in names else []
    others = [name for name in names if name != best.name]
    taken = others[: max(0, best.room)]
    if len(own) + len(taken) < 2:  # one sum is not made smaller by sending it to a neighbour first
        for name in names:
            branches[name] = branches[name]._replace(why="alone" if best.room > 0 else "full", group=tag)
        return names
    for name in taken:
        branches[name] = branches[name]._replace(parent=best.name, why="grouped", group=tag)
    for name in others[len(taken) :]:
        branches[name] = branches[name]._replace(why="full", group=tag)
    branches[best.name] = Branch(None, tier, "top", tag)
    return [best.name, *others[len(taken) :]]


def _tag(tags: Sequence[str], prefix: str) -> str | None:
    return next((tag for tag in sorted(tags) if tag.startswith(prefix)), None)


Share = TypeVar("Share")


class Wanted(NamedTuple, Generic[Share]):
    """What a supernode is to sum."""

    shares: Sequence[Share]
    """Updates that it holds."""
    parts: frozenset[Name]
    """Supernodes that send it their sums."""


class RequestedSum(NamedTuple, Generic[Share]):
    """A sum that a supernode was asked for, and that is not void."""

    wanted: Wanted[Share]
    parent: Name | None
    state: Literal["asked", "held", "accepted"]
    """Held: its parent has it; accepted: the platform has it."""
    since_s: float
    """When it was asked for, or was last to go another way."""
    held_s: float = 0.0
    """When its parent had it."""


class Fault(NamedTuple):
    """A sum that has not come, and what the platform does about it."""

    supernode: Name
    act: Literal["give_up", "cut"]
    """Have its devices, and the supernodes whose sums it adds, send to the platform; or send its sum there."""
    why: Literal["silent", "late", "parent_away"]


def wanted_sums(
    shares: Mapping[Name, Sequence[Share]], parents: Mapping[Name, Name | None]
) -> Mapping[Name, Wanted[Share]]:
    """By supernode; one that neither holds updates nor is to get sums is asked for none."""
    parts: defaultdict[Name, set[Name]] = defaultdict(set)
    for name in shares:
        below, parent = name, parents.get(name)
        while parent is not None:
            parts[parent].add(below)
            below, parent = parent, parents.get(parent)
    return {name: Wanted(shares.get(name, ()), frozenset(parts[name])) for name in shares.keys() | parts.keys()}


def still_good(wanted: Mapping[Name, Wanted[Share]], asked: Mapping[Name, RequestedSum[Share]]) -> frozenset[Name]:
    """Supernodes that were asked for what is wanted of them, as were all whose sums go into theirs."""

    def is_good(name: Name) -> bool:
        one = asked.get(name)
        if one is None or name not in wanted:
            return False
        same = (list(one.wanted.shares), one.wanted.parts) == (list(wanted[name].shares), wanted[name].parts)
        return same and all(is_good(part) for part in wanted[name].parts)

    return frozenset(name for name in wanted if is_good(name))


def faults(
    asked: Mapping[Name, RequestedSum[Share]], *, gone: Collection[Name], now_s: float, patience_s: float
) -> Iterator[Fault]:
    """What is due for sums that have not come; `gone` are the supernodes that are not there any more.

    Whoever is there and waits for its parts is not late; a sum that is held is lost only with who holds it.
    """
    for name, one in sorted(asked.items()):
        if one.state != "asked":
            continue
        parts = [asked[part] for part in one.wanted.parts if part in asked]
        since_s = max([one.since_s, *(part.held_s for part in parts)])
        if name in gone:
            yield Fault(name, "give_up", "silent")
        elif any(part.state == "asked" for part in parts) or now_s - since_s <= patience_s:
            continue
        elif one.parent is None:
            yield Fault(name, "give_up", "late")
        else:
            yield Fault(name, "cut", "parent_away")


def are_all_in(wanted: Mapping[Name, Wanted[Share]], asked: Mapping[Name, RequestedSum[Share]]) -> bool:
    """Whether the platform has the sum of every update."""
    good = still_good(wanted, asked)
    return good == wanted.keys() and all(
        asked[name].state == ("accepted" if asked[name].parent is None else "held") for name in wanted
    )
