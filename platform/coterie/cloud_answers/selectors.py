"""Which devices the platform answers for, and with what."""

from dataclasses import dataclass
from typing import Literal

from coterie.evaluation.answer_job import LARGEST_BYTES
from coterie.federations.models import Federation
from coterie.federations.selectors import lineages_of
from coterie.fleet.models import Device
from coterie.registry.models import Blob, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie_learning.fallback import Bounds
from coterie_wire.bundle import ModelSpec
from coterie_wire.fallback import PlatformOffer


@dataclass(frozen=True)
class AnsweringModel:
    """A model in use, small enough to be run for a request."""

    model: Literal["cloud", "device"]
    version: str
    spec: ModelSpec
    """Of the pair."""
    labels: tuple[str, ...]
    graph: str
    """SHA-256, as those that follow."""
    parameters: str
    frozen: str | None


def consents(device: Device) -> bool:
    """Whether its owner lets samples leave it."""
    return device.capabilities.get("asks_platform") is True


def bounds_of(federation: Federation) -> Bounds | None:
    """How many answers its devices may have; None: none, or the federation is not active."""
    if federation.state == Federation.State.FINISHED:
        return None
    return federation.parsed_plan().fallback.platform_bounds()


def offer_to(device: Device, federation: Federation | None) -> PlatformOffer | None:
    """The offer sent to a device for the federation whose model it has."""
    if federation is None or not consents(device):
        return None
    bounds = bounds_of(federation)
    return None if bounds is None else PlatformOffer(federation.slug, bounds.samples)


def answering_model(federation: Federation, device: Device) -> AnsweringModel | None:
    """The cloud model in use where devices can run it, else the version of the device model; None: neither is
    possible.
    """
    pair = federation.pair
    lineage = lineages_of(federation, [device.pk], plan=federation.parsed_plan())[device.pk]
    spec, labels = pair.model_spec(), tuple(pair.labels)
    cloud = champion(pair.pk, Role.CLOUD, lineage)
    if cloud is not None and pair.teacher_predict is not None and _fits(pair.teacher_predict, cloud):
        return AnsweringModel(
            "cloud", str(cloud.pk), spec, labels, pair.teacher_predict.pk, cloud.parameters_id, frozen=None
        )
    version = champion(pair.pk, Role.DEVICE, lineage)
    if version is None or pair.predict is None or not _fits(pair.predict, version):
        return None
    return AnsweringModel(
        "device", str(version.pk), spec, labels, pair.predict.pk, version.parameters_id, frozen=pair.frozen_id
    )


def _fits(graph: Blob, version: ModelVersion) -> bool:
    parts = (graph, version.parameters)
    is_there = all(part.removed_at is None and part.damaged_at is None for part in parts)
    return is_there and sum(part.size_bytes for part in parts) <= LARGEST_BYTES
