"""Reads the device's samples in batches, oldest first, and evaluates the personal model on each."""

from collections.abc import Sequence

import msgspec
import numpy as np

from coterie_agent.peers.personal_model import PersonalModel
from coterie_agent.sharing import ClassFound
from coterie_agent.store.peers import Reading
from coterie_agent.store.samples import SampleStore, Snapshot, StoredRow
from coterie_learning.client.whole_batches import whole_batches
from coterie_learning.help import WatchRules
from coterie_learning.profile import Counts
from coterie_learning.watch import DriftWatch, begin_watch
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json

_COMPARED = 256
"""Most samples on which models are compared."""


def begin_reading(samples: SampleStore) -> Reading:
    """A reading that starts at the oldest sample."""
    before = samples.snapshot().first - 1
    return Reading(judged=before, trained=before)


def next_batch(samples: SampleStore, after: int, *, up_to: int | None, size: int) -> list[int]:
    """The numbers of the next `size` samples after number `after`; empty while there are fewer."""
    last = samples.snapshot().last if up_to is None else up_to
    ids = samples.ids(Snapshot(after + 1, last), at_most=size)
    return list(next(whole_batches(ids, size), ()))


def newest_judged(samples: SampleStore, reading: Reading, count: int) -> list[StoredRow]:
    """The newest `count` samples that the model was evaluated on, oldest first."""
    return samples.load(samples.newest_ids(up_to=reading.judged, count=count))


def newest_samples(samples: SampleStore) -> list[StoredRow]:
    """The newest samples, oldest first, on which models are compared where none was evaluated batch by batch."""
    return samples.load(samples.newest_ids(up_to=samples.snapshot().last, count=_COMPARED))


def fair_samples(samples: SampleStore, reading: Reading, count: int) -> list[StoredRow]:
    """Those of the newest `count` evaluated samples that the personal model was not trained on; all if there are none.

    A model is better on samples that it was trained on, so no other would ever seem better.
    """
    newest = newest_judged(samples, reading, count)
    return [row for row in newest if row.id > reading.trained] or newest


def watch_of(reading: Reading, rules: WatchRules, classes: int) -> DriftWatch:
    """The stored `DriftWatch`; a new one where there is none, or where it belongs to another model or plan."""
    if reading.watch:
        try:
            watch = from_json(reading.watch, DriftWatch)
        except UNREADABLE:
            return begin_watch(rules, classes)
        if (watch.profile.classes, watch.profile.keep) == (classes, rules.window_batches):
            return watch
    return begin_watch(rules, classes)


def judge_batch(own: PersonalModel, rows: Sequence[StoredRow], reading: Reading, rules: WatchRules) -> Reading:
    """The reading after a batch on which the personal model has not trained.

    Raises AgentError ``data.does_not_fit`` or ``model.broken``.
    """
    labels = np.array([row.label for row in rows], np.int64)
    predicted = own.predict(rows)
    watch = watch_of(reading, rules, own.spec.classes).observe(rules, labels, predicted)
    return msgspec.structs.replace(
        reading, judged=rows[-1].id, batches=reading.batches + 1, watch=msgspec.json.encode(watch)
    )


def found_in(counts: Counts) -> list[ClassFound]:
    """The classes that occur, with the number of their samples and of correct predictions."""
    return [
        ClassFound(int(label), int(counts.samples[label]), int(counts.samples[label] - counts.wrong[label]))
        for label in np.flatnonzero(counts.samples)
    ]
