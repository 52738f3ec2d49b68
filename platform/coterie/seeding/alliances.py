"""Alliances of two parties: one that is over, one that trains, one that waits for an owner, and one that failed."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import msgspec

from coterie.alliances import reasons
from coterie.alliances.models import Alliance, Party
from coterie.core.durable import reason_columns
from coterie.core.separation import project_of
from coterie.fleet.models import Device
from coterie.registry.models import Alias, ModelPair, ModelVersion, Role
from coterie.seeding.lineages import keep, parameters
from coterie_learning.vertical.terms import VerticalTerms
from coterie_wire.alliances import AllianceFigures
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.conditions import Reason

WIDTH, BANK_COLUMNS, INSURER_COLUMNS, CLASSES = 16, 12, 10, 8
PEOPLE = {Party.Role.COLUMNS: 2_000, Party.Role.LABELS: 2_000}
COMMON, ALONE = 1_500, 0.521
TERMS = VerticalTerms()
LETTERS_AN_EPOCH, LETTER_BYTES = 40, 5_200
TOO_FEW = Reason("vertical.too_few", "131 people are known to both parties, and 200 are needed")
State = Alliance.State


def make_alliances(devices: Sequence[Device], *, random: Random, now: datetime) -> None:
    """Of the first devices that are there."""
    lower, upper = _half("Claims, lower half", random, now), _half("Claims, upper half", random, now)
    there = [one for one in devices if one.last_seen_at is not None and one.state == Device.State.ENROLLED]
    if len(there) < 2:
        return
    bank, insurer = there[0], there[1]
    for name, state, epochs, ago in (
        ("Claims, first quarter", State.FINISHED, TERMS.epochs, timedelta(days=19)),
        ("Claims, pilot", State.FAILED, 0, timedelta(days=26)),
        ("Claims, second quarter", State.WORKING, 9, timedelta(hours=2)),
        ("Claims, third quarter", State.WAITING, 0, timedelta(minutes=40)),
    ):
        alliance = Alliance(name=name, state=state, terms=msgspec.to_builtins(TERMS), created_at=now - ago)
        alliance.project_id = project_of(bank)
        _record_epochs(alliance, epochs, bank, random)
        alliance.save()
        for role, device, version in ((Party.Role.COLUMNS, bank, lower), (Party.Role.LABELS, insurer, upper)):
            _party(alliance, role, device, version, now)


def _record_epochs(alliance: Alliance, epochs: int, bank: Device, random: Random) -> None:
    """What its parties have told by then."""
    if alliance.state == State.WAITING:
        reason = reasons.needs_consent([bank.name])
    else:
        alliance.begun_at = alliance.created_at + timedelta(minutes=25)
        reason = reasons.reported_by(bank.name, TOO_FEW)
    if epochs:
        alliance.common, alliance.alone = COMMON, ALONE
        reason = reasons.training(AllianceFigures(common=COMMON, epoch=epochs), epochs=TERMS.epochs)
    for epoch in range(1, epochs + 1):
        reached = ALONE + 0.19 * (1 - math.exp(-epoch / 5)) + random.gauss(0, 0.006)
        loss = round(0.8 + 1.2 * math.exp(-epoch / 6), 4)
        alliance.take_figures(AllianceFigures(common=COMMON, epoch=epoch, loss=loss, accuracy=round(reached, 4)))
    if alliance.state == State.FINISHED:
        reason = reasons.finished(alliance.accuracy, common=COMMON)
    if alliance.state not in Alliance.ACTIVE:
        alliance.ended_at = alliance.created_at + timedelta(hours=1)
    for column, value in reason_columns(reason).items():
        setattr(alliance, column, value)


def _party(alliance: Alliance, role: Party.Role, device: Device, version: ModelVersion, now: datetime) -> None:
    party = Party(alliance=alliance, role=role, device=device, version=version)
    if alliance.begun_at is not None or role == Party.Role.LABELS:
        key = bytes([1 + (role == Party.Role.LABELS)]) * 32
        party.key, party.partner = key, bytes([3 - key[0]]) * 32
        party.people = PEOPLE[role]
        party.columns = BANK_COLUMNS if role == Party.Role.COLUMNS else INSURER_COLUMNS
        party.joined_at = alliance.created_at + timedelta(minutes=20)
        party.seen_at = alliance.ended_at or now
        party.sent = party.taken = 1 + LETTERS_AN_EPOCH * alliance.epoch
        party.sent_bytes = LETTER_BYTES * party.sent
    if alliance.state == State.FINISHED:
        party.finished_at = alliance.ended_at
    party.save()


def _half(name: str, random: Random, now: datetime) -> ModelVersion:
    """A pair that can be one, with the version that it was uploaded with."""
    is_lower = "lower" in name
    columns = BANK_COLUMNS if is_lower else INSURER_COLUMNS
    began = now - timedelta(days=70)
    cut = TensorSpec("beside", "float32", (WIDTH,))
    spec = ModelSpec.of_classifier(
        inputs=(TensorSpec("x", "float32", (columns,)), *(() if is_lower else (cut,))),
        classes=CLASSES,
        batch_size=64,
        parameters=(TensorSpec("weight", "float32", (WIDTH, columns)), TensorSpec("bias", "float32", (WIDTH,))),
        head=None,
    )
    if is_lower:
        given = TensorSpec("values", "float32", (WIDTH,))
        spec = msgspec.structs.replace(spec, task="values", output=given, target=given)
    else:
        spec = msgspec.structs.replace(spec, cut="beside")
    empty, first = keep(b"seeded", began), parameters(spec, random, began)
    loss, at_cut = ("given_gradient", "") if is_lower else ("cross_entropy", "beside")
    pair = ModelPair.objects.create(
        name=name,
        slug=name.lower().replace(", ", "-").replace(" ", "-"),
        state=ModelPair.State.READY,
        labels=[] if is_lower else [f"need {number}" for number in range(1, CLASSES + 1)],
        batch_size=64,
        device_program=empty,
        cloud_program=empty,
        spec=msgspec.to_builtins(spec),
        recipe={"loss": {"kind": loss}, "cut": at_cut},
        train_step=empty,
        predict=empty,
        initial_parameters=first,
        created_at=began,
    )
    version = ModelVersion.objects.create(
        pair=pair,
        role=Role.DEVICE,
        number=1,
        origin=ModelVersion.Origin.UPLOAD,
        parameters=first,
        created_at=began,
    )
    Alias.objects.create(pair=pair, role=Role.DEVICE, name=Alias.Name.CHAMPION, version=version, moved_at=began)
    return version
