"""Who helped whom, as a matrix that stays readable: by device while they are few, then by groups with equal tags."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from django.db.models import Count, QuerySet

from coterie.fleet.models import Device
from coterie.transfer.models import Transfer

MOST = 20
"""At most so many rows, and columns, besides the one for all others."""
By = Literal["device", "tags"]
OTHERS = "others"
UNTAGGED = "without tags"

State = Transfer.State
OUTCOMES: Mapping[str, str] = {State.KEPT: "kept", State.UNDONE: "undone", **dict.fromkeys(Transfer.LIVE, "open")}
"""The cell's field by a transfer's state; in all other states the transfer ended, or has not been judged yet."""


@dataclass(frozen=True)
class Side:
    """A row or a column: a device, devices with the same tags, or all others."""

    name: str
    device: UUID | None
    """None: a group, or the others."""
    devices: int
    transfers: int


@dataclass
class Cell:
    """The outcomes of the transfers from one row to one column; places count from 0."""

    helper: int
    target: int
    kept: int = 0
    undone: int = 0
    open: int = 0
    failed: int = 0


@dataclass(frozen=True)
class HelpingMatrix:
    """Helpers as rows, those that were helped as columns, those with most transfers first, the others last."""

    by: By
    transfers: int
    helpers: list[Side] = field(default_factory=list)
    targets: list[Side] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    """The cells that have a transfer."""


def helping_matrix(transfers: QuerySet[Transfer]) -> HelpingMatrix:
    """By device where neither side has more than `MOST`, else by groups of devices with the same tags."""
    pairs = list(transfers.order_by().values_list("helper", "request__device", "state").annotate(many=Count("pk")))
    ids = {helper for helper, *_ in pairs}, {target for _, target, *_ in pairs}
    devices = Device.objects.in_bulk(ids[0] | ids[1])
    by: By = "device" if max(len(ids[0]), len(ids[1])) <= MOST else "tags"
    key: Mapping[UUID, Hashable] = {
        pk: pk if by == "device" else tuple(sorted(device.tags)) for pk, device in devices.items()
    }
    sums: Counter[tuple[Hashable, Hashable, str]] = Counter()
    for helper, target, state, many in pairs:
        sums[key[helper], key[target], OUTCOMES.get(state, "failed")] += many
    rows, helpers = _sides(((helper, many) for (helper, _, _), many in sums.items()), key, devices, ids[0])
    columns, targets = _sides(((target, many) for (_, target, _), many in sums.items()), key, devices, ids[1])
    cells: dict[tuple[int, int], Cell] = {}
    for (helper, target, outcome), many in sums.items():
        place = rows.get(helper, MOST), columns.get(target, MOST)
        cell = cells.setdefault(place, Cell(*place))
        setattr(cell, outcome, getattr(cell, outcome) + many)
    ordered = [cells[place] for place in sorted(cells)]
    return HelpingMatrix(by, sums.total(), helpers, targets, ordered)


def _sides(
    counted: Iterable[tuple[Hashable, int]],
    key: Mapping[UUID, Hashable],
    devices: Mapping[UUID, Device],
    present: Collection[UUID],
) -> tuple[Mapping[Hashable, int], list[Side]]:
    """The place of each of the `MOST` with most transfers, and all sides in their order."""
    totals: Counter[Hashable] = Counter()
    for one, many in counted:
        totals[one] += many
    sizes = Counter(key[pk] for pk in present)
    names = {one: _name(one, devices) for one in totals}
    ordered = sorted(totals, key=lambda one: (-totals[one], names[one]))
    shown, left = ordered[:MOST], ordered[MOST:]
    sides = [Side(names[one], one if isinstance(one, UUID) else None, sizes[one], totals[one]) for one in shown]
    if left:
        sides.append(Side(OTHERS, None, sum(sizes[one] for one in left), sum(totals[one] for one in left)))
    return {one: place for place, one in enumerate(shown)}, sides


def _name(one: Hashable, devices: Mapping[UUID, Device]) -> str:
    if isinstance(one, UUID):
        return devices[one].name
    assert isinstance(one, tuple), "a device or its tags"
    return ", ".join(one) or UNTAGGED
