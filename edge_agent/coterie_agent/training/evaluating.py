"""A version on the samples that the device holds out from training, for a federated evaluation."""

import math
import time
from collections.abc import Callable, Sequence

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.store.evaluating import Evaluating, EvaluationStore
from coterie_agent.store.samples import SampleStore
from coterie_agent.training.model import Model
from coterie_agent.training.predictor import Predictor
from coterie_learning.client.order import split
from coterie_wire.evaluating import ReportEvaluation
from coterie_wire.trial import Fit

_ROWS = 32


def evaluate_version(
    evaluation: str,
    *,
    model: Model,
    samples: SampleStore,
    store: EvaluationStore,
    threads: int,
    checkpoint_s: float,
    stop: Callable[[], bool],
    rest: Callable[[float], None],
) -> ReportEvaluation | None:
    """The figures to tell; None if `stop` said so before, and what was measured is kept.

    `rest` is told the seconds of work after each few samples. Raises AgentError ``data.no_samples``,
    ``model.not_finite``, ``data.does_not_fit`` or ``model.*``, WireError ``tensors.*``.
    """
    found = store.load(evaluation)
    snapshot = samples.snapshot() if found is None else found.snapshot
    held_out = split(samples.ids(snapshot)).held_out
    if found is None or found.held_out != len(held_out):
        found = Evaluating(evaluation, snapshot, len(held_out))
    predictor = Predictor(model.predict(), model.manifest.model, model.parameters(), model.frozen(), threads=threads)
    saved_at = time.monotonic()
    while found.seen < len(held_out):
        if stop():
            store.save(found)
            return None
        began = time.monotonic()
        found = _advanced(found, held_out[found.seen : found.seen + _ROWS], predictor, samples)
        rest(time.monotonic() - began)
        if time.monotonic() - saved_at >= checkpoint_s:
            store.save(found)
            saved_at = time.monotonic()
    if found.samples == 0:
        raise AgentError("data.no_samples", "no samples are on the device to evaluate a version on")
    loss = found.loss / found.samples
    if not math.isfinite(loss):
        raise AgentError("model.not_finite", "the version's loss on the device's samples is not finite")
    accuracy = None if found.right is None else found.right / found.samples
    return ReportEvaluation(evaluation=evaluation, samples=found.samples, fit=Fit(loss=loss, accuracy=accuracy))


def _advanced(found: Evaluating, ids: Sequence[int], predictor: Predictor, samples: SampleStore) -> Evaluating:
    rows = samples.load(ids)
    if not rows:
        return msgspec.structs.replace(found, seen=found.seen + len(ids))
    measured = predictor.measure_rows(rows)
    return msgspec.structs.replace(
        found,
        seen=found.seen + len(ids),
        samples=found.samples + len(rows),
        loss=found.loss + float(measured.losses.sum()),
        right=None if measured.right is None else (found.right or 0.0) + float(measured.right.sum()),
    )
