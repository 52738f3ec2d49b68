"""A scenario: the data, models, speed and schedules of virtual devices."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.simulation import learners, streams
from coterie.simulation.errors import MalformedFile, UnknownScenario
from coterie.simulation.learners import LearnerKind
from coterie.simulation.streams import Stream
from coterie_learning.kinds import Registry
from coterie_learning.unknown_names import nearest
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values

LEARNERS = Registry("learner", learners, LearnerKind)
STREAMS = Registry("stream", streams, Stream)
SHIPPED = Path(__file__).parent / "scenarios"


class Speed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How fast devices compute and transfer; a device's own factor is drawn from the simulation's seed."""

    sample_s: Annotated[float, Meta(ge=0, le=3600, description="seconds that training on one sample takes")] = 0.002
    spread: Annotated[
        float, Meta(ge=0, le=3, description="standard deviation of the logarithm of a device's slowness")
    ] = 0.3
    stragglers: Annotated[float, Meta(ge=0, le=1, description="share of devices that are slower still")] = 0.0
    straggler_factor: Annotated[float, Meta(ge=1, le=1000, description="how many times slower those are")] = 5.0
    uplink_bytes_s: Annotated[float, Meta(gt=0, description="bytes a second from a device")] = 125_000.0
    downlink_bytes_s: Annotated[float, Meta(gt=0, description="bytes a second to a device")] = 625_000.0
    latency_s: Annotated[float, Meta(ge=0, le=3600, description="seconds that any message takes")] = 0.1


class Habits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When devices charge and are on Wi-Fi."""

    charging: Annotated[
        tuple[Annotated[float, Meta(ge=0, le=24)], Annotated[float, Meta(ge=0, le=24)]] | None,
        Meta(description="hours [from, to) on mains; from > to spans midnight; null: always"),
    ] = None
    wifi: Annotated[
        tuple[Annotated[float, Meta(ge=0, le=24)], Annotated[float, Meta(ge=0, le=24)]] | None,
        Meta(description="hours [from, to) on Wi-Fi; null: always"),
    ] = None
    spread_h: Annotated[float, Meta(ge=0, le=12, description="hours by which devices differ at most, either way")] = 0.0


class Bootstrap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cloud model, and how it and the first device model come from the initial cloud data."""

    hidden: Annotated[int, Meta(ge=1, le=4096, description="width of the cloud model's hidden layer")] = 64
    epochs: Annotated[int, Meta(ge=1, le=10_000, description="passes at most, cloud model")] = 200
    learning_rate: Annotated[float, Meta(gt=0, le=10, description="step size of the cloud model's AdamW")] = 0.01
    batch_size: Annotated[int, Meta(ge=1, le=65_536, description="samples in a step of the cloud model")] = 32
    patience: Annotated[int, Meta(ge=1, description="epochs without a better one before a training stops")] = 20
    validation_share: Annotated[float, Meta(gt=0, lt=1, description="share of the data held back to stop by")] = 0.2
    device_epochs: Annotated[int, Meta(ge=1, le=10_000, description="passes at most, device model")] = 200
    device_learning_rate: Annotated[float, Meta(gt=0, le=10, description="step size of the device model")] = 0.1
    device_momentum: Annotated[float, Meta(ge=0, lt=1, description="share of the last step kept")] = 0.9
    device_label_weight: Annotated[float, Meta(ge=0, le=1, description="the rest is the cloud model's")] = 0.5


class Scenario(msgspec.Struct, frozen=True):
    """A scenario, parsed."""

    title: str
    devices: int
    """Default number of devices."""
    window: int
    """Batches that a device stores."""
    begins_s: float
    """When the operator starts the federation, or devices start to train."""
    bootstrap: Bootstrap | None
    """None: device models start with random parameters, and there is no cloud model."""
    stream: Stream
    learner: LearnerKind
    speed: Speed
    habits: Habits


def parse_scenario(raw: object, *, path: str) -> Scenario:
    """Raises MalformedFile."""
    try:
        parts = from_values(raw, ScenarioFile)
        return Scenario(
            title=parts.title,
            devices=parts.devices,
            window=parts.window,
            begins_s=parts.begins_s,
            bootstrap=parts.bootstrap,
            stream=STREAMS.parse(parts.stream),
            learner=LEARNERS.parse(parts.learner),
            speed=parts.speed,
            habits=parts.habits,
        )
    except (msgspec.ValidationError, WireError) as error:
        raise MalformedFile(path=path, detail=str(error)) from error


def shipped_scenarios() -> Mapping[str, Path]:
    """Files by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def read_scenario(name: str) -> Scenario:
    """The scenario shipped under `name`, or the one in the file of that name.

    Raises UnknownScenario or MalformedFile.
    """
    known = shipped_scenarios()
    path = known.get(name, Path(name))
    if not path.is_file():
        raise UnknownScenario(name=name, nearest=nearest(name, known) or "none", known=", ".join(known))
    return parse_scenario(read_toml(path), path=name)


def read_toml(path: Path) -> object:
    """Raises MalformedFile."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MalformedFile(path=str(path), detail=str(error)) from error


class ScenarioFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario as its file has it."""

    title: Annotated[str, Meta(min_length=1, max_length=200)]
    stream: object
    learner: object
    devices: Annotated[int, Meta(ge=1, le=100_000, description="how many, where nobody says otherwise")] = 10
    window: Annotated[int, Meta(ge=1, le=10_000, description="batches that a device keeps")] = 10
    begins_s: Annotated[
        float, Meta(ge=0, le=1e9, description="seconds after which the operator starts, or devices begin to train")
    ] = 0.0
    bootstrap: Bootstrap | None = None
    speed: Speed = Speed()
    habits: Habits = Habits()
