"""A candidate against the champion, on the samples that the device holds out from training."""

from collections.abc import Callable, Sequence

from coterie_agent.errors import AgentError, reason_of
from coterie_agent.store.samples import SampleStore
from coterie_agent.training.model import Model
from coterie_agent.training.predictor import Measure, Predictor
from coterie_learning.client.order import split
from coterie_wire.errors import WireError
from coterie_wire.trial import Fit, ReportTrial, TrialFigures


def run_trial(
    rollout: str,
    *,
    champion: Model,
    candidate: Model,
    samples: SampleStore,
    threads: int,
    stop: Callable[[], bool],
) -> ReportTrial | None:
    """How both do on the same samples, or why the candidate cannot be used; None if `stop` said so.

    Raises AgentError or WireError where the device has no samples, or the champion cannot be used either.
    """
    held_out = split(samples.ids(samples.snapshot())).held_out
    if not held_out:
        raise AgentError("data.no_samples", "no samples are left on the device to compare versions on")
    before = _measure(champion, samples, held_out, threads, stop)
    if before is None:
        return None
    try:
        after = _measure(candidate, samples, held_out, threads, stop)
    except (AgentError, WireError) as error:
        return ReportTrial(rollout=rollout, fault=reason_of(error))
    if after is None:
        return None
    compared = TrialFigures(
        samples=len(held_out),
        champion=Fit(loss=before.loss, accuracy=before.accuracy),
        candidate=Fit(loss=after.loss, accuracy=after.accuracy),
    )
    return ReportTrial(rollout=rollout, compared=compared)


def _measure(
    model: Model, samples: SampleStore, ids: Sequence[int], threads: int, stop: Callable[[], bool]
) -> Measure | None:
    predictor = Predictor(model.predict(), model.manifest.model, model.parameters(), model.frozen(), threads=threads)
    return predictor.measure(samples, loss_of=ids, accuracy_of=ids, stop=stop)
