"""Two versions, a federation whose rounds nobody fills, and devices that hold the champion."""

from datetime import datetime

import msgspec

from coterie.federations.models import Federation
from coterie.registry.models import BASE, ModelVersion, Role
from coterie.registry.selectors import champion
from coterie.registry.services import publish_version
from coterie.rollouts import device_api
from coterie.rollouts.models import Rollout
from coterie.rollouts.services import start_rollout
from coterie.rounds.advancing import sweep
from coterie_wire.bundle import Manifest
from coterie_wire.messages import Directive
from coterie_wire.trial import Fit, ReportTrial, TrialFigures
from tests.coterie.world import START, ScriptedDevice, fleet_of, keep, later, make_federation, make_pair, make_version

TERMS = {"share": 0.5, "reports": 2, "threshold": 0.05, "within_s": 100, "absent_s": 50}


class World:
    """What roll-outs are tried with."""

    def __init__(self, *, devices: int = 4) -> None:
        self.pair = make_pair()
        self.champion = make_version(self.pair)
        self.candidate = another_version(self.champion, "candidate")
        self.federation: Federation = make_federation(self.pair, target_updates=50, min_updates=50)
        self.devices = fleet_of(devices)
        self.check_in(START)

    def check_in(self, now: datetime) -> dict[str, Directive]:
        """What each device is told; it holds what it is told to hold at once."""
        return {device.row.name: follow(device, now) for device in self.devices}

    def start(self, **terms: object) -> Rollout:
        """A roll-out of the candidate, as far as it goes by itself."""
        rollout = start_rollout(version=self.candidate, terms={**TERMS, **terms}, now=START)
        sweep(now=later(1))
        rollout.refresh_from_db()
        return rollout

    def group(self, rollout: Rollout) -> list[ScriptedDevice]:
        """Who tries it."""
        chosen = set(rollout.trials.values_list("device", flat=True))
        return [device for device in self.devices if device.row.pk in chosen]

    def in_use(self) -> ModelVersion | None:
        """The champion."""
        return champion(self.pair.pk, Role.DEVICE)


def another_version(parent: ModelVersion, content: str, *, lineage: str = BASE) -> ModelVersion:
    """A version that is not in use."""
    return publish_version(
        pair_id=parent.pair_id,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.MERGE,
        parent=parent,
        parameters=keep(content.encode()),
        metrics={},
        now=START,
        lineage=lineage,
        in_use=False,
    )


def follow(device: ScriptedDevice, now: datetime) -> Directive:
    """Check in, and hold what one is told to hold."""
    directive = device.check_in(now)
    if directive.manifest is not None:
        device.version = msgspec.json.decode(directive.manifest.manifest, type=Manifest).version
    return directive


def comparison(*, before: float, after: float) -> TrialFigures:
    """By accuracy."""
    return TrialFigures(samples=20, champion=Fit(1.0, before), candidate=Fit(1.0, after))


def report(
    device: ScriptedDevice, rollout: Rollout, *, before: float = 0.8, after: float = 0.8, at: float = 10
) -> None:
    """Tell how the candidate does, and let the platform look at it."""
    outcome = ReportTrial(rollout=str(rollout.pk), compared=comparison(before=before, after=after))
    device_api.report_trial(device.row, outcome, later(at))
    sweep(now=later(at))
    rollout.refresh_from_db()
