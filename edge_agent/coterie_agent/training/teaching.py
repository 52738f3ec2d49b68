"""The cloud model's word on the device's samples: it is downloaded, asked about each sample once, and let go.

Source: stage 3 of Colla (Lu et al. 2019, SEC).
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.store.samples import Samples
from coterie_agent.store.teacher_probabilities import TeacherProbabilitiesStore
from coterie_agent.training.predictor import Predictor
from coterie_learning.heads import renormalise
from coterie_learning.teacher import Teacher, restore_weights
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.tensors import Float32

log = logging.getLogger(__name__)
ROWS = 32
"""Samples that the teacher is asked about at once; their answers are kept before the next are asked."""


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """One version of the cloud model, which need not be on the device."""

    teacher: Teacher
    model: ModelSpec
    """Of the device, whose samples it must take and whose classes it must know."""
    blobs: BlobCache
    samples: Samples
    store: TeacherProbabilitiesStore
    fetch: Callable[[], bool]
    """Have the teacher on the device; False if training must pause before."""
    own_parts: Collection[BlobRef]
    """Of the device's model, which may share a graph with the teacher; they stay."""
    spare_bytes: int
    """Free space below which the teacher is removed once it has been asked."""
    threads: int

    def ask(self, ids: Sequence[int], *, stop: Callable[[], bool]) -> bool:
        """Have the teacher's word on every sample; False if `stop` said so before, what was said until then is kept.

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
        unasked = self.store.unasked(version, ids)
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
                said = predictor.probabilities(rows).astype(np.float16)
                words = {row.id: word.tobytes() for row, word in zip(rows, said, strict=True)}
                self.store.keep(version, words)
        if self.blobs.free_bytes() < self.spare_bytes:
            log.info("the teacher is removed: less than %d bytes are free", self.spare_bytes)
            self.blobs.remove(part for part in parts_of(self.teacher) if part not in self.own_parts)
        return True

    def words(self, ids: Sequence[int], classes: Sequence[int]) -> Float32:
        """The teacher's probabilities [samples, all classes], if there were only `classes`, where any are named.

        About a sample that has gone meanwhile it has no opinion.
        """
        kept = self.store.load(self.teacher.version, ids)
        nothing = np.full(self.teacher.classes, 1 / self.teacher.classes, np.float16).tobytes()
        said = np.stack([np.frombuffer(kept.get(id_, nothing), np.float16) for id_ in ids]).astype(np.float32)
        return renormalise(said, classes) if classes else said

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
