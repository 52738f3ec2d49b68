"""The two parties as state machines: a state and the answers to a letter. No I/O: the caller stores the state after
each letter together with the answers, so that a party that was killed resumes with the same bits."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie_learning.random import epoch_order
from coterie_learning.vertical.halves import Half, LowerHalf, UpperHalf
from coterie_learning.vertical.intersection import Alignment, AlignmentState
from coterie_learning.vertical.letters import (
    MAX_NUMBERS_BYTES,
    Backward,
    Blinded,
    Divided,
    Done,
    Doubled,
    Forward,
    Letter,
    Part,
    bytes_of,
    numbers_of,
)
from coterie_learning.vertical.protection import protect
from coterie_learning.vertical.terms import VerticalTerms
from coterie_wire.errors import WireError

Int64 = NDArray[np.int64]
_PARTS: tuple[Part, ...] = ("train", "held", "asked")


class Epoch(msgspec.Struct, frozen=True):
    """Metrics of an epoch, at the party with the labels."""

    loss: float
    """Mean loss over the batches."""
    accuracy: float
    """Accuracy on the people held out."""


class PartyState(msgspec.Struct, frozen=True):
    """The state of a party."""

    alignment: AlignmentState | None
    """None: it is complete, and the secret number has been deleted."""
    noise_key: bytes
    rows: bytes = b""
    """Row numbers of the common people, int64, in the common order."""
    train: bytes = b""
    """Places in the common order, int64."""
    held: bytes = b""
    asked: bytes = b""
    step: int = 0
    """Number of batches trained on."""
    losses: tuple[float, ...] = ()
    """Losses of this epoch's batches."""
    seen: int = 0
    """Number of people processed of the part that is being evaluated or predicted."""
    right: int = 0
    epochs: tuple[Epoch, ...] = ()
    alone: float | None = None
    """Accuracy of the upper half alone on the people held out; None: not known, or divided by another release."""
    predicted: bytes = b""
    """Classes of the people to predict, int64."""
    is_finished: bool = False


Stage = Literal["aligning", "training", "finished"]


class Party:
    """Shared by both parties."""

    def __init__(self, identifiers: Sequence[str], half: Half, terms: VerticalTerms, standing: PartyState) -> None:
        """`identifiers` are those of the table's rows; `half` has the parameters of the state `standing`."""
        self._identifiers, self._half, self._terms, self.standing = identifiers, half, terms, standing
        self.half: Half = half

    @staticmethod
    def beginning(*, salt: bytes, secret: bytes) -> PartyState:
        """The initial state; `secret` are 64 secret bytes."""
        return PartyState(alignment=AlignmentState(salt, secret[:32]), noise_key=secret[32:])

    def begin(self) -> Iterator[Letter]:
        """The messages that it sends first."""
        return self._aligning().begin()

    def receive(self, letter: Letter) -> list[Letter]:
        """The answers to a letter. Raises WireError ``vertical.…`` where the letter is not one expected next."""
        match letter:
            case Blinded() if self.standing.alignment is not None:
                alignment = self._aligning()
                answer: list[Letter] = [alignment.take_blinded(letter)]
                return answer + self._aligned(alignment)
            case Doubled() if self.standing.alignment is not None:
                alignment = self._aligning()
                alignment.take_doubled(letter)
                return self._aligned(alignment)
            case _ if self.standing.alignment is None and not self.standing.is_finished:
                return self._take(letter)
        raise _unexpected(letter)

    @property
    def stage(self) -> Stage:
        """The current stage."""
        if self.standing.is_finished:
            return "finished"
        return "aligning" if self.standing.alignment is not None else "training"

    @property
    def common(self) -> int:
        """Number of common people; 0 before the intersection is complete."""
        return len(self.standing.rows) // 8

    @property
    def epoch(self) -> int:
        """Number of complete epochs."""
        return self.standing.step // self._batches if self.standing.train else 0

    @property
    def _batches(self) -> int:
        return -(-len(self._part("train")) // self._half.batch_size)

    def _aligned(self, alignment: Alignment) -> list[Letter]:
        if not alignment.is_complete:
            self._become(alignment=alignment.state)
            return []
        rows = alignment.rows()
        if len(rows) < self._terms.least_rows:
            detail = f"{len(rows)} people are known to both parties, and {self._terms.least_rows} are needed"
            raise WireError("vertical.too_few", detail)
        self._become(alignment=None, rows=rows.tobytes())
        return self._divide()

    def _divide(self) -> list[Letter]:
        raise NotImplementedError

    def _take(self, letter: Letter) -> list[Letter]:
        raise NotImplementedError

    def _aligning(self) -> Alignment:
        assert self.standing.alignment is not None
        return Alignment(self._identifiers, self.standing.alignment)

    def _become(self, **changes: object) -> None:
        self.standing = msgspec.structs.replace(self.standing, **changes)

    def _part(self, part: Part) -> Int64:
        """The row numbers of its people."""
        rows = np.frombuffer(self.standing.rows, np.int64)
        return rows[np.frombuffer(getattr(self.standing, part), np.int64)]

    def _batch(self, step: int) -> Int64:
        """Row numbers of the people of step `step`; the last batch of an epoch may be smaller."""
        train, size = self._part("train"), self._half.batch_size
        epoch, batch = divmod(step, self._batches)
        order = epoch_order(len(train), self._terms.seed, epoch)
        return train[order[batch * size : (batch + 1) * size]]

    @property
    def _rate(self) -> float:
        return self._terms.rate(self.standing.step // self._batches)

    @property
    def _chunk(self) -> int:
        """Number of people in a letter without a batch."""
        return max(1, MAX_NUMBERS_BYTES // (4 * self._half.width))


class ColumnsParty(Party):
    """The party with columns only, and the lower half."""

    _half: LowerHalf

    def __init__(self, identifiers: Sequence[str], half: LowerHalf, terms: VerticalTerms, standing: PartyState) -> None:
        super().__init__(identifiers, half, terms, standing)

    def _divide(self) -> list[Letter]:
        return []

    def _take(self, letter: Letter) -> list[Letter]:
        match letter:
            case Divided() if not self.standing.train:
                return self._divided(letter)
            case Backward() if self.standing.train and letter.number == self.standing.step:
                return self._learn(letter)
        raise _unexpected(letter)

    def _divided(self, letter: Divided) -> list[Letter]:
        places = {part: _places(getattr(letter, part), self.common) for part in _PARTS}
        together = np.concatenate(list(places.values()))
        if len(np.unique(together)) != len(together) or not len(places["train"]):
            raise WireError("vertical.malformed", "people are divided into parts that overlap, or none is to train on")
        self._become(**{part: found.tobytes() for part, found in places.items()})
        return [self._next_batch()]

    def _learn(self, letter: Backward) -> list[Letter]:
        rows = self._batch(self.standing.step)
        gradient = numbers_of(letter.gradient, rows=len(rows), width=self._half.width)
        self._half.backward(rows, gradient, learning_rate=self._rate, momentum=self._terms.momentum)
        self._become(step=self.standing.step + 1)
        if self.standing.step % self._batches:
            return [self._next_batch()]
        measured = list(self._whole("held"))
        if self.epoch < self._terms.epochs:
            return [*measured, self._next_batch()]
        self._become(is_finished=True)
        return [*measured, *self._whole("asked"), Done()]

    def _next_batch(self) -> Forward:
        step = self.standing.step
        return Forward("train", step, bytes_of(self._half.forward(self._batch(step))))

    def _whole(self, part: Part) -> Iterator[Forward]:
        rows = self._part(part)
        for first in range(0, len(rows), self._chunk):
            yield Forward(part, first, bytes_of(self._half.forward(rows[first : first + self._chunk])))


class LabelsParty(Party):
    """The party with labels, columns, and the upper half."""

    _half: UpperHalf

    def __init__(self, identifiers: Sequence[str], half: UpperHalf, terms: VerticalTerms, standing: PartyState) -> None:
        super().__init__(identifiers, half, terms, standing)

    @property
    def predictions(self) -> tuple[Int64, Int64]:
        """Rows without a label, and their predicted classes."""
        classes = np.frombuffer(self.standing.predicted, np.int64)
        return self._part("asked")[: len(classes)], classes

    def _divide(self) -> list[Letter]:
        """The people held out come last in the common order, which is effectively random."""
        known = self._half.labels()[np.frombuffer(self.standing.rows, np.int64)] >= 0
        labelled, asked = np.flatnonzero(known), np.flatnonzero(~known)
        held = round(len(labelled) * self._terms.held_share)
        if len(labelled) < self._terms.least_rows or not held:
            detail = f"{len(labelled)} common people have a label, and {self._terms.least_rows} are needed"
            raise WireError("vertical.too_few", detail)
        parts = {"train": labelled[:-held], "held": labelled[-held:], "asked": asked}
        self._become(**{part: places.astype(np.int64).tobytes() for part, places in parts.items()})
        self._become(alone=self._measured_alone())
        bits = {part: _bits(places, self.common) for part, places in parts.items()}
        return [Divided(**bits)]

    def _measured_alone(self) -> float:
        """Accuracy of this party's half trained alone in the same way, with zeros at the cut."""
        half, width = self._half, self._half.width
        before = half.tensors()
        for step in range(self._terms.epochs * self._batches):
            rows = self._batch(step)
            rate = self._terms.rate(step // self._batches)
            half.step(rows, _zeros(rows, width), learning_rate=rate, momentum=self._terms.momentum)
        held = self._part("held")
        right = (half.predict(held, _zeros(held, width)) == half.labels()[held]).mean()
        half.restore(before)
        return float(right)

    def _take(self, letter: Letter) -> list[Letter]:
        standing = self.standing
        ended = self.epoch == self._terms.epochs
        match letter:
            case Forward(part="train", number=standing.step) if not ended and self._is_measured:
                return self._learn(letter)
            case Forward(part="held", number=standing.seen) if not self._is_measured:
                return self._measure(letter)
            case Forward(part="asked", number=standing.seen) if ended and self._is_measured:
                return self._predict(letter)
            case Done() if ended and self._is_measured and standing.seen == len(self._part("asked")):
                self._become(is_finished=True)
                return []
        raise _unexpected(letter)

    @property
    def _is_measured(self) -> bool:
        """Whether every complete epoch was evaluated."""
        return len(self.standing.epochs) == self.epoch

    def _learn(self, letter: Forward) -> list[Letter]:
        step = self.standing.step
        rows = self._batch(step)
        values = numbers_of(letter.values, rows=len(rows), width=self._half.width)
        stepped = self._half.step(rows, values, learning_rate=self._rate, momentum=self._terms.momentum)
        gradient = protect(stepped.gradient, noise=self._terms.noise, secret=self.standing.noise_key, number=step)
        self._become(step=step + 1, losses=(*self.standing.losses, stepped.loss))
        return [Backward(step, bytes_of(gradient))]

    def _measure(self, letter: Forward) -> list[Letter]:
        rows, classes = self._classes("held", letter)
        right = self.standing.right + int((classes == self._half.labels()[rows]).sum())
        seen = self.standing.seen + len(rows)
        held = len(self._part("held"))
        if seen < held:
            self._become(seen=seen, right=right)
        else:
            epoch = Epoch(loss=float(np.mean(self.standing.losses)), accuracy=right / held)
            self._become(seen=0, right=0, losses=(), epochs=(*self.standing.epochs, epoch))
        return []

    def _predict(self, letter: Forward) -> list[Letter]:
        rows, classes = self._classes("asked", letter)
        predicted = self.standing.predicted + classes.astype(np.int64).tobytes()
        self._become(seen=self.standing.seen + len(rows), predicted=predicted)
        return []

    def _classes(self, part: Part, letter: Forward) -> tuple[Int64, Int64]:
        rows = self._part(part)[letter.number : letter.number + self._chunk]
        if not len(rows):
            raise _unexpected(letter)
        return rows, self._half.predict(rows, numbers_of(letter.values, rows=len(rows), width=self._half.width))


def _zeros(rows: Int64, width: int) -> NDArray[np.float32]:
    return np.zeros((len(rows), width), np.float32)


def _places(bits: bytes, count: int) -> Int64:
    if len(bits) != -(-count // 8):
        raise WireError("vertical.malformed", f"{len(bits)} bytes are not one bit for each of {count} people")
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), count=count)).astype(np.int64)


def _bits(places: Int64, count: int) -> bytes:
    flags = np.zeros(count, np.bool_)
    flags[places] = True
    return np.packbits(flags).tobytes()


def _unexpected(letter: Letter) -> WireError:
    return WireError("vertical.out_of_order", f"a letter {type(letter).__name__} is not what comes next")
