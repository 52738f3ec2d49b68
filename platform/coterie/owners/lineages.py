"""How the version in use was made, and which versions contain updates of a forgotten device."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from coterie.merging.models import Merge
from coterie.owners.models import Rebuild
from coterie.registry.models import ModelVersion
from coterie.registry.selectors import ancestry

Origin = ModelVersion.Origin


@dataclass(frozen=True)
class Made:
    """How a version was made from an earlier one."""

    base: ModelVersion
    merges: tuple[int, ...] | None
    """Of which updates, merge by merge; None: of something else, which cannot be repeated."""
    without: frozenset[str] = frozenset()
    """The rebuilds whose devices are not in it although `merges` once held them."""


class Repeatable(NamedTuple):
    """The merges to be repeated without a device."""

    bases: Sequence[ModelVersion]
    """Versions that do not hold it, newest first; the first of them is what the first of its merges went on from."""
    merges: tuple[int, ...] | None
    """All merges since, oldest first; None: something else was made since."""


def history_of(version: ModelVersion) -> list[Made]:
    """By what steps `version` was made, youngest first, as far back as its lineage was made of itself."""
    line = [one for one in ancestry(version) if one.lineage == version.lineage]
    merges = dict(Merge.objects.filter(result_version__in=line).values_list("result_version", "pk"))
    rebuilds = {one.result_version_id: one for one in Rebuild.objects.filter(result_version__in=line)}
    found = []
    for one, base in pairwise(line):
        if one.origin in (Origin.BOOTSTRAP, Origin.UPLOAD):  # whatever its parent is, nothing of it is in there
            break
        rebuild = rebuilds.get(one.pk)
        if rebuild is not None:
            found.append(Made(base, tuple(rebuild.merges), frozenset(rebuild.without)))
        else:
            found.append(Made(base, (merges[one.pk],) if one.pk in merges else None))
    return found


def without_device(history: Sequence[Made], rebuild: Rebuild) -> Repeatable | None:
    """The part of `history` to be repeated without the device of `rebuild`; None: the device is not in it."""
    held, first = set(rebuild.held), None
    for place, made in enumerate(history):
        if str(rebuild.pk) in made.without:
            break
        if made.merges is not None and held.intersection(made.merges):
            first = place
    if first is None:
        return None
    bases = [made.base for made in history[first:]]
    merges: tuple[int, ...] | None = ()
    for made in reversed(history[: first + 1]):
        merges = None if merges is None or made.merges is None else merges + made.merges
    return Repeatable(bases, merges)


def holding_versions(rebuild: Rebuild) -> list[ModelVersion]:
    """The versions made with updates of the device of `rebuild`, and all that went on from them, in any lineage."""
    held = set(rebuild.held)
    made: set[UUID | None] = set(Merge.objects.filter(pk__in=held).values_list("result_version", flat=True))
    others = Rebuild.objects.filter(federation=rebuild.federation_id, result_version__isnull=False)
    for other in others:
        if held.intersection(other.merges) and str(rebuild.pk) not in other.without:
            made.add(other.result_version_id)
    relatives = ModelVersion.objects.filter(pair=rebuild.federation.pair_id, role="device").order_by("created_at")
    return _with_descendants(list(relatives), {key for key in made if key is not None})


def _with_descendants(versions: Collection[ModelVersion], found: set[UUID]) -> list[ModelVersion]:
    by_parent: dict[UUID | None, list[ModelVersion]] = {}
    for version in versions:
        if version.origin not in (Origin.BOOTSTRAP, Origin.UPLOAD, Origin.REBUILD):
            by_parent.setdefault(version.parent_id, []).append(version)
    waiting = list(found)
    while waiting:
        for child in by_parent.get(waiting.pop(), ()):
            if child.pk not in found:
                found.add(child.pk)
                waiting.append(child.pk)
    return [version for version in versions if version.pk in found]
