"""A federation whose rounds nobody fills, versions, and devices that can evaluate them."""

from datetime import datetime

from coterie.fleet_evaluation import device_api
from coterie.fleet_evaluation.advancing import sweep
from coterie.fleet_evaluation.models import Evaluation
from coterie.fleet_evaluation.services import start_evaluation
from coterie.rounds import directives
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.evaluating import ReportEvaluation
from coterie_wire.messages import Capabilities, CheckIn, DataMetadata, Directive
from coterie_wire.trial import Fit
from coterie_wire.version import PROTOCOL
from tests.coterie.world import (
    START,
    ScriptedDevice,
    later,
    make_device,
    make_federation,
    make_pair,
    make_version,
)

ABLE = Capabilities(cores=4, memory_bytes=2**30, machine="aarch64 Linux", agent="0.2.0", evaluates=True)
OLD = Capabilities(cores=4, memory_bytes=2**30, machine="aarch64 Linux", agent="0.1.0")


class Evaluated:
    """What evaluations are tried with."""

    def __init__(self, *, devices: int = 4, tags: tuple[tuple[str, ...], ...] = ((),), able: bool = True) -> None:
        self.pair = make_pair()
        self.older = make_version(self.pair)
        self.champion = make_version(self.pair, seed=1)
        self.federation = make_federation(self.pair, target_updates=50, min_updates=50)
        self.devices = [
            ScriptedDevice(make_device(f"device-{number}", tags=tags[number % len(tags)])) for number in range(devices)
        ]
        for device in self.devices:
            self.check_in(device, START, capabilities=ABLE if able else OLD)

    def check_in(self, device: ScriptedDevice, now: datetime, *, capabilities: Capabilities = ABLE) -> Directive:
        """One check-in, with what the device can."""
        device.row.refresh_from_db()
        message = CheckIn(
            protocol=PROTOCOL,
            conditions=Conditions(),
            version=device.version,
            metadata=DataMetadata(samples=40),
            capabilities=capabilities,
        )
        return directives.check_in(device=device.row, message=message, now=now)

    def start(self, *, devices: int = 50, reports: int = 1, within_s: int = 100, tag: str = "") -> Evaluation:
        """Of the version before the champion."""
        return start_evaluation(
            version=self.older, devices=devices, reports=reports, within_s=within_s, tag=tag, now=START
        )

    def swept(self, evaluation: Evaluation, at: float) -> Evaluation:
        """It, after the sweep has come by."""
        goes_on = Evaluation.objects.filter(state__in=Evaluation.ACTIVE).exists()
        assert (sweep(now=later(at)) == 0.0) is goes_on, "it has moments of its own"
        evaluation.refresh_from_db()
        return evaluation

    def asked(self, at: float) -> list[ScriptedDevice]:
        """The devices that are told to measure it."""
        return [device for device in self.devices if self.check_in(device, later(at)).evaluate is not None]

    def tell(self, device: ScriptedDevice, accuracy: float, *, samples: int = 20, at: float = 2) -> None:
        """The device's figures, for the evaluation that it is asked for."""
        part = device.row.evaluation_parts.filter(evaluation__state="measuring").latest("pk")
        report = ReportEvaluation(str(part.evaluation_id), samples, Fit(2 - accuracy, accuracy))
        device_api.report_evaluation(device.row, report, later(at))

    def fail(self, device: ScriptedDevice, *, at: float = 2) -> None:
        """The device says why it cannot."""
        part = device.row.evaluation_parts.latest("pk")
        fault = Reason("data.no_samples", "no samples are on the device")
        device_api.report_evaluation(device.row, ReportEvaluation(str(part.evaluation_id), fault=fault), later(at))
