"""Why evaluations wait, and how they ended: stable codes, and sentences made of figures."""

from coterie.fleet_evaluation.summary import Summary
from coterie_wire.conditions import Reason

STOPPED = Reason("fleet_evaluation.stopped", "an operator stopped it")
MASKED = Reason(
    "fleet_evaluation.masked", "the federation's plan now hides in a sum what each device measures; nobody is asked"
)
NOT_LONGER = Reason("fleet_evaluation.federation_finished", "the federation has finished, so its devices are not asked")


def needs_devices(*, needed: int, available: int) -> Reason:
    """Too few devices could measure it now."""
    sentence = f"needs {needed} devices that are there and can evaluate, {available} are"
    return Reason("fleet_evaluation.needs_devices", sentence)


def measuring(*, devices: int, reports: int) -> Reason:
    """Devices measure it as their conditions allow."""
    return Reason("fleet_evaluation.measuring", f"{reports} of {devices} devices have told how it does")


def measured(summary: Summary) -> Reason:
    """The evaluation has finished."""
    how = f"loss {summary.loss:.4g}" if summary.accuracy is None else f"accuracy {summary.accuracy:.2%}"
    return Reason("fleet_evaluation.measured", f"{how} on {summary.samples} samples of {summary.devices} devices")


def too_few_reports(*, needed: int, measured: int, faults: int, example: str) -> Reason:
    """The evaluation failed, with too few measurements."""
    sentence = f"needs figures of {needed} devices, {measured} came in time"
    if faults:
        sentence += f", and {faults} could not measure it: {example}"
    return Reason("fleet_evaluation.too_few_reports", sentence[:400])
