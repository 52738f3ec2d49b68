"""What the benchmark runs, read from the file beside it."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

Document = dict[str, object]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Arm(_Strict, frozen=True):
    local: Document
    merge: Document
    against: str | None = None
    """The arm that it is compared with."""
    steady: bool = False
    """Whether its spread is claimed to be smaller too."""
    alike: bool = False
    """Whether devices have equal shares of all data."""


class Skew(_Strict, frozen=True):
    devices: int
    concentration: float
    cohort: int
    rounds: int
    steps: int
    accuracy: float
    most_rounds: float
    most_spread: float
    arms: Mapping[str, Arm]
    controls: Mapping[str, Arm]


class Stragglers(_Strict, frozen=True):
    devices: int
    most_samples: int
    cohort: int
    rounds: int
    epochs: int
    share: float
    learning_rate: float
    mu: float
    least_gain: float


class Fairness(_Strict, frozen=True):
    devices: int
    minority: int
    turned: float
    label_noise: float
    sharp_noise: float
    """Of the control, whose labels hardly err."""
    cohort: int
    rounds: int
    learning_rate: float
    q: float
    most_variance: float
    most_lost: float


class Personal(_Strict, frozen=True):
    devices: int
    unseen: int
    images_each: int
    cohort: int
    rounds: int
    steps: int
    alpha: float
    beta: float
    least_gain: float
    long_rounds: int
    long_alpha: float
    long_steps: int


class Tasks(_Strict, frozen=True):
    devices: int
    rounds: int
    epochs: int
    learning_rate: float
    mu: float
    most_error: float


class Settings(_Strict, frozen=True):
    """The whole file."""

    seeds: tuple[int, ...]
    skew: Skew
    stragglers: Stragglers
    fairness: Fairness
    personal: Personal
    tasks: Tasks


def read_settings() -> Settings:
    """Raises msgspec.ValidationError where the file has other keys."""
    path = Path(__file__).with_name("settings.toml")
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Settings)
