"""Operators' decisions about alliances: begin one, or stop it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from coterie.alliances import reasons
from coterie.alliances.errors import AllianceHasEnded, NotHalves, OneDevice
from coterie.alliances.models import Alliance, Party
from coterie.alliances.transitions import end
from coterie.audit.recording import audited
from coterie.core.durable import reason_columns
from coterie.core.events import notify_consoles
from coterie.core.names import checked_name
from coterie.core.separation import check_together, project_of
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion, Role
from coterie.registry.services import hold_version
from coterie_learning.vertical.terms import VerticalTerms
from coterie_wire.contract import cut_inputs
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values


@audited("alliances.begin_alliance")
def begin_alliance(
    *,
    name: str,
    columns_device: Device,
    columns_version: ModelVersion,
    labels_device: Device,
    labels_version: ModelVersion,
    terms: Mapping[str, object],
    now: datetime,
) -> Alliance:
    """Have two devices train one network, once the owners of both agree.

    `columns_version` is of a pair with loss ``given_gradient``, `labels_version` of one whose recipe has a cut that
    takes what the other gives. It belongs to the project that both devices are in. Raises BadName, OneDevice,
    NotHalves, OtherProject, VersionRemoved or WireError ``alliance.terms``.
    """
    if columns_device == labels_device:
        raise OneDevice
    try:
        agreed = from_values(terms, VerticalTerms)
    except msgspec.ValidationError as error:
        raise WireError("alliance.terms", f"terms: {error}") from error
    check_together(columns_device, labels_device, columns_version, labels_version)
    _check_halves(columns_version, labels_version)
    alliance = Alliance.objects.create(
        project_id=project_of(columns_device),
        name=checked_name(name),
        terms=msgspec.to_builtins(agreed),
        created_at=now,
        **reason_columns(reasons.needs_consent([columns_device.name, labels_device.name])),
    )
    given = (
        (Party.Role.COLUMNS, columns_device, columns_version),
        (Party.Role.LABELS, labels_device, labels_version),
    )
    for role, device, version in given:
        hold_version(version)
        Party.objects.create(alliance=alliance, role=role, device=device, version=version)
    notify_consoles("alliances")
    return alliance


@audited("alliances.cancel_alliance", subject="alliance")
def cancel_alliance(*, alliance: Alliance, now: datetime) -> None:
    """Stop it; the parties are told at their next request. Raises HasEnded."""
    held = Alliance.objects.select_for_update(no_key=True).get(pk=alliance.pk)
    if held.state not in Alliance.ACTIVE:
        raise AllianceHasEnded(alliance=str(held.pk), state=held.state)
    end(held, Alliance.State.CANCELLED, reason=reasons.STOPPED, now=now)
    alliance.refresh_from_db()


def _check_halves(lower: ModelVersion, upper: ModelVersion) -> None:
    for version in (lower, upper):
        if version.role != Role.DEVICE:
            raise NotHalves(problem=f"version {version.pk} is of a cloud model")
    if lower.pair.recipe.get("loss", {}).get("kind") != "given_gradient":
        raise NotHalves(problem="the lower half is trained by a loss of its own, not by a given gradient")
    below, above = lower.pair.model_spec(), upper.pair.model_spec()
    at_cut = cut_inputs(above)
    if not at_cut:
        raise NotHalves(problem="the recipe of the upper half names no cut")
    if at_cut[0].shape != below.output.shape:
        problem = f"the lower half gives {list(below.output.shape)}, and the upper takes {list(at_cut[0].shape)}"
        raise NotHalves(problem=problem)
    if above.task != "classes" or len(above.inputs) != 2 or len(below.inputs) != 1:
        raise NotHalves(problem="the lower half has one input, the upper one a second beside its cut, and classes")
    if below.batch_size != above.batch_size:
        raise NotHalves(problem=f"their batches are of {below.batch_size} and of {above.batch_size} people")
    if any(spec.seeded or spec.statistics for spec in (below, above)):
        raise NotHalves(problem="a half has dropout or batch statistics, which end at the cut")
