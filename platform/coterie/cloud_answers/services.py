"""A device's request is checked before a model is run: consent, plan, samples, rate."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from django.core.cache import cache

from coterie.audit.models import Entry
from coterie.audit.recording import record
from coterie.cloud_answers.errors import (
    AnswerTooLarge,
    NoConsent,
    NoModel,
    NotOffered,
    TooManySamples,
    TooOften,
    WrongSample,
)
from coterie.cloud_answers.running import PredictionTask
from coterie.cloud_answers.selectors import answering_model, bounds_of, consents
from coterie.core.counting import count_up
from coterie.core.errors import CoterieError
from coterie.core.metrics import CLOUD_ANSWERS
from coterie.evaluation.answer_job import LARGEST_BYTES
from coterie.federations.models import Federation
from coterie.federations.selectors import followed_federation
from coterie.fleet.models import Device
from coterie_learning.fallback import Bounds
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import accepted_sizes, at_length, length_of
from coterie_wire.fallback import AskPlatform

ACTION = "cloud_answers.answer_device"
MOST_NUMBERS = 40_000
"""In an answer: what fits into a reply that a device reads."""
MAX_WHOLE = 2**24 - 1
"""Up to it float32 represents every integer exactly."""
WINDOW_S = 60
DAY = timedelta(days=1)


def prepare_answer(*, device: Device, message: AskPlatform, now: datetime) -> PredictionTask:
    """The checked task. The audit log has one entry for each day on which a device has made requests.

    Raises NoConsent, NotOffered, TooManySamples, TooOften, NoModel, WrongSample or AnswerTooLarge.
    """
    if not consents(device):
        raise _refused(NoConsent())
    federation = followed_federation(device)
    bounds = None if federation is None or federation.slug != message.federation else bounds_of(federation)
    if federation is None or bounds is None:
        raise _refused(NotOffered(federation=message.federation))
    if len(message.samples) > bounds.samples:
        raise _refused(TooManySamples(samples=len(message.samples), most=bounds.samples))
    _count(device, federation, bounds, now)
    found = answering_model(federation, device)
    if found is None:
        raise _refused(NoModel(pair=federation.pair.slug, most_mb=LARGEST_BYTES >> 20))
    _check(message.samples, found.spec)
    _record(device, federation, now)
    return PredictionTask(found, message.samples)


def _refused(error: CoterieError) -> CoterieError:
    CLOUD_ANSWERS.labels("refused").inc()
    return error


def _count(device: Device, federation: Federation, bounds: Bounds, now: datetime) -> None:
    """Raises TooOften; each minute starts from zero."""
    second = int(now.timestamp())
    wait_s = WINDOW_S - second % WINDOW_S
    for who, key, limit in (
        ("This device", f"device:{device.pk}", bounds.per_device),
        (f"Federation {federation.slug}", f"federation:{federation.pk}", bounds.per_minute),
    ):
        if count_up(f"cloud-answers:{key}:{second // WINDOW_S}", within_s=2 * WINDOW_S) > limit:
            raise _refused(TooOften(who=who, limit=limit, wait_s=wait_s))


def _check(samples: Sequence[bytes], model: ModelSpec) -> None:
    """Raises WrongSample or AnswerTooLarge."""
    numbers = 0
    for index, sample in enumerate(samples):
        problem, length = _problem_of(sample, model)
        if problem:
            raise _refused(WrongSample(index=index, problem=problem))
        numbers += math.prod(at_length(model, length).output.shape) if model.task != "classes" else 1
    if numbers > MOST_NUMBERS:
        raise _refused(AnswerTooLarge(numbers=numbers, most=MOST_NUMBERS))


def _problem_of(sample: bytes, model: ModelSpec) -> tuple[str, int]:
    """The problem with a sample, blank: none; and its length."""
    count, rest = divmod(len(sample), 4)
    length = None if rest else length_of(model, count)
    if length is None:
        return f"it has {len(sample)} bytes, and a sample has {accepted_sizes(model)} numbers of 4 bytes", 0
    x = np.frombuffer(sample, "<f4")
    if not np.isfinite(x).all():
        return "its numbers are not finite", 0
    start = 0
    for tensor in at_length(model, length).inputs:
        part = x[start : (start := start + math.prod(tensor.shape))]
        least, most = {"uint8": (0, 255), "bool": (0, 1)}.get(tensor.dtype, (-MAX_WHOLE, MAX_WHOLE))
        if tensor.dtype != "float32" and not ((part == np.rint(part)) & (part >= least) & (part <= most)).all():
            return f"input {tensor.name} takes whole numbers, {least} to {most}", 0
    return "", length


def _record(device: Device, federation: Federation, now: datetime) -> None:
    day = now.date().isoformat()
    if not cache.add(f"cloud-answers:recorded:{device.pk}:{day}", True, 2 * DAY.total_seconds()):
        return
    told = Entry.objects.filter(action=ACTION, subject_kind="fleet.device", subject_id=str(device.pk))
    after = {"day": day, "federation": federation.slug}
    if not told.filter(after__day=day).exists():  # the cache may have dropped it
        record(ACTION, row=device, before={}, after=after)
