"""What the benchmark runs, read from the file beside it."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from coterie.simulation.scenario import read_toml, shipped_scenarios
from coterie_learning.detectors import AnyDetector

Document = dict[str, object]


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A learner under plans that differ from the presets in a few values."""

    title: str
    learner: Document
    local: Document = {}
    """What differs from the preset's."""
    help: Document = {}
    centralised: str | None = None
    """The learner whose centralised training the bytes are compared with; None: they are not."""


class Targets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many times better."""

    network: float
    linear: float
    forest: float
    bytes: float

    def of(self, learner: str) -> float:
        """For batches to recover."""
        return msgspec.to_builtins(self)[learner]


class Control(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Devices that cannot help."""

    profiles: list[Document]


class Activities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """People who take up an activity."""

    seeds: tuple[int, ...]
    scenarios: tuple[str, ...]
    after_batches: int
    """From the change on, in which it is judged."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    seeds: tuple[int, ...]
    workloads: tuple[str, ...]
    stationary: str
    after_batches: int
    learners: Mapping[str, Document]
    targets: Targets
    detectors: Mapping[str, AnyDetector]
    control: Control
    variants: tuple[Case, ...]
    traps: tuple[Case, ...]
    """Regimes in which Cartel gains little."""
    activities: Activities


def learner_of(scenario: str) -> Document:
    """The learner of a scenario that is shipped."""
    return msgspec.convert(msgspec.convert(read_toml(shipped_scenarios()[scenario]), Document)["learner"], Document)


def read_settings() -> Settings:
    """Raises msgspec.ValidationError where the file has other keys."""
    raw = tomllib.loads((Path(__file__).parent / "settings.toml").read_text(encoding="utf-8"))
    return msgspec.convert(raw, Settings)
