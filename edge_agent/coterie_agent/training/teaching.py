"""The cloud model's probabilities for the device's samples: it is downloaded, run once on each, and removed.

Source: stage 3 of Colla (Lu et al. 2019, SEC).
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.store.samples import SampleStore
from coterie_agent.store.teacher_probabilities import TeacherProbabilitiesStore
from coterie_agent.training.predictor import Predictor
from coterie_learning.client.teacher_probabilities import stored_probabilities, teacher_targets
from coterie_learning.teacher import Teacher, restore_weights
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.tensors import Float32

log = logging.getLogger(__name__)
ROWS = 32
"""Samples that the teacher is run on at once; their probabilities are stored before the next batch."""


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """One version of the cloud model, which need not be on the device."""

    teacher: Teacher
    model: ModelSpec
    """Of the device, whose samples it must take and whose classes it must know."""
    blobs: BlobCache
    samples: SampleStore
    store: TeacherProbabilitiesStore
    fetch: Callable[[], bool]
    """Download the teacher; False if training must pause before."""
    own_parts: Collection[BlobRef]
    """Of the device's model, which may share a graph with the teacher; they stay."""
    spare_bytes: int
    """Free space, in bytes, below which the teacher is removed after use."""
    threads: int

    def compute(self, ids: Sequence[int], *, stop: Callable[[], bool]) -> bool:
        """Store the teacher's probabilities for every sample; False if `stop` returned true before: it can resume.

        Raises AgentError ``bundle.*``, ``model.*`` or ``data.does_not_fit``, WireError ``tensors.*``.
        """
        if not self.model.classes or (self.teacher.inputs, self.teacher.classes) != (
            self.model.inputs,
            self.model.classes,
        ):
            raise AgentError(
                "model.contract", "the teacher takes other samples, or knows other classes, than the model"
            )
        version = self.teacher.version
        self.store.begin(version)
        unasked = self.store.missing(version, ids)
        if not unasked:
            return True
        if not self.fetch():
            return False
        predictor = self._predictor()
        for start in range(0, len(unasked), ROWS):
            if stop():
                return False
            rows = self.samples.load(unasked[start : start + ROWS])
            if rows:
                found = stored_probabilities(predictor.probabilities(rows))
                self.store.keep(version, {row.id: one.tobytes() for row, one in zip(rows, found, strict=True)})
        if self.blobs.free_bytes() < self.spare_bytes:
            log.info("the teacher is removed: less than %d bytes are free", self.spare_bytes)
            self.blobs.remove(part for part in parts_of(self.teacher) if part not in self.own_parts)
        return True

    def probabilities(self, ids: Sequence[int], classes: Sequence[int]) -> Float32:
        """The teacher's probabilities [samples, all classes], if there were only `classes`, where any are named.

        Those of a sample that has gone meanwhile are uniform.
        """
        kept = self.store.load(self.teacher.version, ids)
        uniform = np.full(self.teacher.classes, 1 / self.teacher.classes, np.float16).tobytes()
        return teacher_targets(np.stack([np.frombuffer(kept.get(id_, uniform), np.float16) for id_ in ids]), classes)

    def _predictor(self) -> Predictor:
        content = self.blobs.read(self.teacher.predict)
        weights = restore_weights(self.blobs.read(self.teacher.weights), self.teacher.parameters)
        model = ModelSpec.of_classifier(
            inputs=self.teacher.inputs,
            classes=self.teacher.classes,
            batch_size=self.model.batch_size,
            parameters=self.teacher.parameters,
        )
        model = msgspec.structs.replace(model, length=self.model.length)
        return Predictor(content, model, weights, {}, threads=self.threads)


def parts_of(teacher: Teacher) -> tuple[BlobRef, BlobRef]:
    """What a device downloads of a teacher; the graph is that of every version."""
    return teacher.predict, teacher.weights
