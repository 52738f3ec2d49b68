"""The lineage of a pair's versions as a graph, and how two versions compare."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from coterie.registry.models import Alias, ModelPair, ModelVersion


@dataclass(frozen=True)
class Edge:
    """A version and the version that it was made from."""

    from_version: UUID
    to_version: UUID
    origin: str


@dataclass(frozen=True)
class Graph:
    """Versions of both models of a pair, oldest first, and from which they were made."""

    versions: tuple[ModelVersion, ...]
    edges: tuple[Edge, ...]
    count: int
    """How many versions the pair has."""


@dataclass(frozen=True)
class Figure:
    """One metric of two versions; None where a version does not have it."""

    name: str
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        """The second's minus the first's."""
        return None if self.first is None or self.second is None else self.second - self.first


def graph_of(pair: ModelPair, *, newest: int | None = None) -> Graph:
    """The `newest` versions of the pair, whatever their lineage; None: everything that was ever published of it."""
    rows = pair.versions.select_related("parameters", "server_state", "description").prefetch_related("aliases")
    versions = tuple(reversed(rows.order_by("-created_at", "-number")[:newest]))
    shown = {version.pk for version in versions}
    return Graph(
        versions=versions,
        edges=tuple(Edge(v.parent_id, v.pk, v.origin) for v in versions if v.parent_id in shown),
        count=len(versions) if newest is None else pair.versions.count(),
    )


def figures_of(first: ModelVersion, second: ModelVersion) -> list[Figure]:
    """Every metric that either has, and the size."""
    own, other = _numbers(first), _numbers(second)
    return [Figure(name, own.get(name), other.get(name)) for name in {**own, **other}]


def class_figures_of(first: ModelVersion, second: ModelVersion) -> list[Figure]:
    """Accuracy by class, under the classes' names; empty where it was measured of neither, or the pairs differ."""
    own, other = (version.metrics.get("class_accuracy", []) for version in (first, second))
    if first.pair_id != second.pair_id or not (own or other):
        return []
    labels = first.pair.labels
    missing = [None] * len(labels)
    return [Figure(name, *values) for name, *values in zip(labels, own or missing, other or missing, strict=True)]


def is_champion(version: ModelVersion) -> bool:
    """Whether it is the one in use."""
    return any(alias.name == Alias.Name.CHAMPION for alias in version.aliases.all())


def _numbers(version: ModelVersion) -> Mapping[str, float]:
    metrics = {name: value for name, value in version.metrics.items() if isinstance(value, int | float)}
    return {**metrics, "size_bytes": version.parameters.size_bytes}
