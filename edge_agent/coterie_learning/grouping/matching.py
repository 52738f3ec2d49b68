"""Names for new groups: a group keeps its name if most of its members are still together."""

from collections import Counter
from collections.abc import Sequence


def name_groups(labels: Sequence[int], former: Sequence[str], *, named: int) -> tuple[str, ...]:
    """The name of each new group, by its number.

    `labels` are the new groups of models, `former` the names of the groups that they were in, blank for none; `named`
    groups already have a name. Names are assigned by decreasing overlap, each once. A group that keeps no former name
    gets a new one.
    """
    count = max(labels, default=-1) + 1
    overlaps = Counter((label, name) for label, name in zip(labels, former, strict=True) if name)
    names: dict[int, str] = {}
    for (label, name), _ in sorted(overlaps.items(), key=lambda item: (-item[1], item[0])):
        if label not in names and name not in names.values():
            names[label] = name
    for label in range(count):
        if label not in names:
            named += 1
            names[label] = f"group-{named}"
    return tuple(names[label] for label in range(count))
