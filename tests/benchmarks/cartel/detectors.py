"""How often each detector alarms where nothing changes, and how soon where a digit is introduced."""

from collections.abc import Sequence
from statistics import mean

from coterie.simulation.outcome import DeviceOutcome, SimulationOutcome
from coterie_learning.drift import Detector, DriftState
from tests.benchmarks.cartel.settings import Settings
from tests.benchmarks.report import Figure


def alarm_figures(
    learner: str, settings: Settings, still: Sequence[SimulationOutcome], changed: Sequence[SimulationOutcome]
) -> list[Figure]:
    """Both read the errors of isolated devices."""
    figures = []
    for name, detector in settings.detectors.items():
        case = f"detector {name}, {learner}"
        devices = [device for outcome in still for device in outcome.devices]
        false = sum(batch >= settings.after_batches for device in devices for batch in _alarms(detector, device))
        batches = sum(len(device.samples) - settings.after_batches for device in devices)
        figures.append(
            Figure(case, "false alarms, stationary", 1000 * false / batches, f"in 1000 batches; {false} in {batches}")
        )
        delays = [_delay(detector, outcome) for outcome in changed]
        found = [delay for delay in delays if delay is not None]
        figures.append(
            Figure(
                case,
                "batches until a new digit is noticed",
                mean(found) if found else float("nan"),
                f"batches; {len(found)} of {len(delays)} noticed",
            )
        )
    return figures


def _delay(detector: Detector, outcome: SimulationOutcome) -> int | None:
    """From the first batch with the new digit to the alarm, that batch counted; None where there was none."""
    (shift,) = outcome.recoveries
    device = next(device for device in outcome.devices if device.name == shift.device)
    return next((batch - shift.tick + 1 for batch in _alarms(detector, device) if batch >= shift.tick), None)


def _alarms(detector: Detector, device: DeviceOutcome) -> list[int]:
    state: DriftState = detector.begin()
    found = []
    for batch, (samples, correct) in enumerate(zip(device.samples, device.correct, strict=True)):
        state, drifted = state.observe(samples - correct, samples)
        if drifted:
            found.append(batch)
    return found
