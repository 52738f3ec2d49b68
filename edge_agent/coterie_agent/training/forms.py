"""How quick each form of a version is on this device, as it is now, and which of them is to predict."""

import time
from collections.abc import Callable, Mapping

from coterie_agent.store.samples import FLOAT_BYTES, StoredRow
from coterie_agent.training.predictor import Predictor
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import input_size
from coterie_wire.latency import Durations, Histogram

WARM_UP, RUNS = 20, 200
_LONGEST_S = 5.0
"""Of one form's measurement; a slow one is measured in fewer runs."""
_FEWEST = 5


def measure_form(predictor: Predictor, spec: ModelSpec, *, stop: Callable[[], bool]) -> Histogram | None:
    """Durations of one run on one sample of zeros; None if `stop` returned true before. The first runs do not count.

    Raises AgentError ``model.broken``.
    """
    row = [StoredRow(0, bytes(input_size(spec) * FLOAT_BYTES), 0)]
    durations = Durations()
    began = time.perf_counter()
    for run in range(WARM_UP + RUNS):
        if stop():
            return None
        since = time.perf_counter()
        predictor.outputs(row)
        now = time.perf_counter()
        is_slow = now - began > _LONGEST_S
        if run >= WARM_UP or is_slow:
            durations.add(now - since)
        if is_slow and durations.histogram().total >= _FEWEST:
            break
    return durations.histogram()


def choose_form(forms: Mapping[str, Histogram], *, within_s: float) -> str:
    """The first of `forms`, which come the most accurate first, that runs within so long 99 times of 100.

    Where none does, the quickest.
    """
    for name, histogram in forms.items():
        slow = histogram.quantile_s(0.99)
        if slow is not None and slow <= within_s:
            return name
    return min(forms, key=lambda name: forms[name].quantile_s(0.5) or float("inf"))
