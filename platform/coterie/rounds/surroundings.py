"""Devices' federations, rounds, assignments and versions; read for many devices in as many queries as for one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from coterie.federations.models import Federation
from coterie.federations.selectors import federations_by_device, lineages_of
from coterie.fleet.models import Device
from coterie.registry.models import Role
from coterie.registry.selectors import champions
from coterie.rollouts.models import Trial
from coterie.rollouts.selectors import trials_of
from coterie.rounds.assigning import revive
from coterie.rounds.models import Assignment, Round


@dataclass(frozen=True)
class Surroundings:
    """What the platform reads about one device to answer its check-in."""

    federations: Sequence[Federation]
    """The device's running and paused federations, oldest first; if there are none, the one that it followed last."""
    rounds: Mapping[UUID, Round]
    """Rounds that are planned or under way, by federation."""
    parts: Mapping[int, Assignment]
    """The device's assignment in each round that invited it or took its update, in any state."""
    assignment: Assignment | None
    """The assignment that it should work on now, with its round and federation."""
    trial: Trial | None
    """The trial in which it takes part now, with its roll-out."""
    target_version: UUID | None
    """The version of its group's device model, or the base's, that it should hold; None before the first."""

    @property
    def followed(self) -> Federation | None:
        """The federation whose model the device uses: of several, the one that began first. It may have finished."""
        return self.federations[0] if self.federations else None

    @property
    def under_way(self) -> Sequence[Federation]:
        """The device's running and paused federations, oldest first."""
        return [federation for federation in self.federations if federation.state != Federation.State.FINISHED]


def surroundings_of(devices: Sequence[Device], *, now: datetime) -> Mapping[UUID, Surroundings]:
    """The surroundings of each of `devices`. Their dropped assignments in open rounds are restored."""
    federations = federations_by_device(devices)
    followed = {pk: found[0] for pk, found in federations.items() if found}
    all_followed = {federation.pk: federation for federation in followed.values()}
    rounds = _active_rounds([federation for found in federations.values() for federation in found])
    parts = _parts(devices, rounds, now)
    trials = trials_of([device for device in devices if not device.pinned_version], all_followed)
    in_use = champions({federation.pair_id for federation in all_followed.values()}, Role.DEVICE)
    lineages = _lineages(followed, all_followed)
    found = {}
    for device in devices:
        federation = followed.get(device.pk)
        trial = None if federation is None else trials.get((device.pk, federation.pk))
        champion = None if federation is None else in_use.get((federation.pair_id, lineages[device.pk]))
        own = parts[device.pk]
        found[device.pk] = Surroundings(
            federations=federations[device.pk],
            rounds=rounds,
            parts=_by_round(own, rounds),
            assignment=next((part for part in own if _is_to_be_done(part)), None),
            trial=trial,
            target_version=_target_version(device, trial, champion),
        )
    return found


def _target_version(device: Device, trial: Trial | None, champion: UUID | None) -> UUID | None:
    if device.pinned_version:
        return UUID(device.pinned_version)
    return champion if trial is None or trial.rollout.is_shadow() else trial.rollout.version_id


def _active_rounds(federations: Sequence[Federation]) -> Mapping[UUID, Round]:
    by_key = {federation.pk: federation for federation in federations}
    rounds = Round.objects.filter(federation__in=by_key, state__in=Round.ACTIVE).order_by()
    found = {round_.federation_id: round_ for round_ in rounds}
    for key, round_ in found.items():
        round_.federation = by_key[key]
    return found


def _parts(
    devices: Sequence[Device], rounds: Mapping[UUID, Round], now: datetime
) -> Mapping[UUID, Sequence[Assignment]]:
    """The devices' assignments in `rounds`, and those in other rounds that they should work on."""
    by_key = {round_.pk: round_ for round_ in rounds.values()}
    unfinished = Q(state__in=(*Assignment.UNENDED, Assignment.State.JOINED)) | Q(
        state=Assignment.State.DELIVERED, taken_by=None
    )
    concern = Q(round__in=by_key) | Q(taken_by__in=by_key) | unfinished
    parts = list(Assignment.objects.filter(concern, device__in=devices).order_by())
    # In a federation that the device has left meanwhile: it finishes the assignment that it has begun.
    elsewhere = {part.round_id for part in parts} - by_key.keys()
    if elsewhere:
        by_key.update(Round.objects.select_related("federation").in_bulk(elsewhere))
    found: defaultdict[UUID, list[Assignment]] = defaultdict(list)
    for part in parts:
        part.round = by_key[part.round_id]
        if part.state == Assignment.State.DROPPED and part.has_time():
            revive(assignment=part, now=now)
        found[part.device_id].append(part)
    return found


def _by_round(own: Sequence[Assignment], rounds: Mapping[UUID, Round]) -> Mapping[int, Assignment]:
    """Assignments by the round that invited the device, and by the one that took its update, or will take it."""
    found: dict[int, Assignment] = {}
    for part in own:
        found[part.round_id] = part
        taken_by = part.taken_by_id
        if taken_by is None and part.state == Assignment.State.DELIVERED and part.round.federation_id in rounds:
            taken_by = rounds[part.round.federation_id].pk
        if taken_by is not None:
            found[taken_by] = part
    return found


def _is_to_be_done(part: Assignment) -> bool:
    return part.state == Assignment.State.JOINED or (part.state in Assignment.LIVE and part.has_time())


def _lineages(followed: Mapping[UUID, Federation], all_followed: Mapping[UUID, Federation]) -> Mapping[UUID, str]:
    found: dict[UUID, str] = {}
    for key, federation in all_followed.items():
        devices = [device for device, own in followed.items() if own.pk == key]
        found.update(lineages_of(federation, devices, plan=federation.parsed_plan()))
    return found
