"""The aggregation tree of supernodes: who sends sums to whom, and how failures are handled.

Pure functions of the platform's rows, so that a simulation runs the same code as production. A tree is built once in a
round, tier by tier from the sites up; after that it only loses branches, which then send to the platform, so that every
round ends. After the aggregators of Bonawitz et al. 2019, "Towards federated learning at scale" (MLSys), §4.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

Name = str
"""Tags of a device."""


class Offering(NamedTuple):
    """A device that accepts sums of others."""

    name: Name
    room: int
    """Most sums that it accepts."""
    score: float


class Branch(NamedTuple):
    """The destination of a supernode's sum, with the reason."""

    parent: Name | None
    """None: the platform."""
    tier: int
    """0: it sums updates only; n: it is the supernode of a group of tier n, and checks sums with that tier's seed."""
    why: Literal["grouped", "top", "no_tag", "nobody", "full", "alone", "unchecked"]
    group: str = ""
    """The common tag of the group."""


def grown(
    leaves: Iterable[Name],
    offering: Iterable[Offering],
    tags: Mapping[Name, Sequence[str]],
    tiers: Sequence[str],
    *,
    unchecked: frozenset[Name] = frozenset(),
) -> Mapping[Name, Branch]:
    """The branches of supernodes that have updates, and of those that accept sums of others.

    Supernodes in `unchecked` have updates without fingerprints for all tiers: their sums go to the platform.
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
    """Combine the sums of one group; returns the supernodes left at its top."""
    if not free:
        for name in names:
            branches[name] = branches[name]._replace(why="nobody", group=tag)
        return names
    best = free[0]
    own = [best.name] if best.name in names else []
    others = [name for name in names if name != best.name]
    taken = others[: max(0, best.room)]
    if len(own) + len(taken) < 2:  # a single sum does not get smaller by sending it to a neighbour first
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
    """The inputs of a supernode's sum."""

    shares: Sequence[Share]
    """Updates that it has."""
    parts: frozenset[Name]
    """Supernodes that send it their sums."""


class RequestedSum(NamedTuple, Generic[Share]):
    """A sum requested of a supernode, and not void."""

    wanted: Wanted[Share]
    parent: Name | None
    state: Literal["asked", "held", "accepted"]
    """``held``: its parent has it; ``accepted``: the platform has it."""
    since_s: float
    """When it was requested, or last rerouted."""
    held_s: float = 0.0
    """When its parent received it."""


class Fault(NamedTuple):
    """A missing sum, and the platform's action."""

    supernode: Name
    act: Literal["give_up", "cut"]
    """Redirect its devices and the supernodes whose sums it adds to the platform, or redirect its own sum there."""
    why: Literal["silent", "late", "parent_away"]


def required_sums(
    shares: Mapping[Name, Sequence[Share]], parents: Mapping[Name, Name | None]
) -> Mapping[Name, Wanted[Share]]:
    """The inputs by supernode; a supernode without updates and without parts is not asked for a sum."""
    parts: defaultdict[Name, set[Name]] = defaultdict(set)
    for name in shares:
        below, parent = name, parents.get(name)
        while parent is not None:
            parts[parent].add(below)
            below, parent = parent, parents.get(parent)
    return {name: Wanted(shares.get(name, ()), frozenset(parts[name])) for name in shares.keys() | parts.keys()}


def valid_requests(wanted: Mapping[Name, Wanted[Share]], asked: Mapping[Name, RequestedSum[Share]]) -> frozenset[Name]:
    """Supernodes whose request matches what is needed, as do those of all supernodes whose sums go into theirs."""

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
    """Faults for missing sums; `gone` are the supernodes that have disappeared.

    A supernode that is present and waiting for its parts is not late; a held sum is lost only with its holder.
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
    good = valid_requests(wanted, asked)
    return good == wanted.keys() and all(
        asked[name].state == ("accepted" if asked[name].parent is None else "held") for name in wanted
    )
