"""What programs and the owner's page say of labels: what to ask about, what was seen, what the owner answers."""

import threading
import time
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_agent.conditions.local_hour import LocalHour
from coterie_agent.consent import reason_taken_back
from coterie_agent.ingest.row import RowCheck
from coterie_agent.local_api import Added, AddSamples, LocalApi
from coterie_agent.model import held_manifest
from coterie_agent.site import RequestError, Route, decode
from coterie_agent.store.labelling import Unlabelled
from coterie_agent.store.samples import FLOAT_BYTES
from coterie_learning.consent import LABELS
from coterie_learning.labelling import (
    LabelKind,
    Labelling,
    answer,
    ask,
    questions_left,
    skip,
    snooze,
    undo,
)
from coterie_wire.bundle import Manifest, ModelSpec
from coterie_wire.contract import input_size

COMPARED = 200
"""Of the samples without a label, the newest, among which one is chosen to be asked about."""
HOUR_S = 3600.0


class ToLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sample that its program knows no label of."""

    x: Annotated[list[float], Meta(min_length=1)] | dict[str, list[float]]
    """As of ``POST /samples``."""
    shown: Annotated[str, Meta(max_length=400)] = ""
    """What the owner is shown of it, where it is no picture: "Tuesday, 14:05, kitchen"."""


class AskLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /ask-label``."""

    samples: Annotated[list[ToLabel], Meta(min_length=1, max_length=1000)]


class Waiting(msgspec.Struct, frozen=True):
    """The answer to it."""

    unlabelled: int
    """Samples without a label on the device now."""


class LabelQuestion(msgspec.Struct, frozen=True):
    """A sample whose class the owner is asked for."""

    id: int
    shown: str
    picture: tuple[int, int, int] | None
    """Channels, height and width, where the model takes one picture of 1 or 3 channels: `x` is it then."""
    x: list[float]
    options: list[str]
    """What the classes are called, from 0."""


class LabelView(msgspec.Struct, frozen=True):
    """``GET /labels``: the question that is open, or that has just been opened, and what there is besides."""

    question: LabelQuestion | None
    left_today: int
    unlabelled: int
    snoozed_until: float
    """Unix time; past: it is not."""
    can_undo: bool
    given: int
    asked: int
    implied: int
    """Samples by who said their label."""


class AnswerLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /labels/answer``."""

    question: int
    label: Annotated[int, Meta(ge=0)] | None
    """A class; null: the owner skips the question, and is not asked again."""


class SnoozeLabels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /labels/snooze``: no new question for so many hours; 0: ask again."""

    hours: Annotated[float, Meta(ge=0, le=720)]


@dataclass(kw_only=True)
class LabelApi:
    """What the routes do."""

    local: LocalApi
    clock: Callable[[], float] = time.time
    _hour: LocalHour = field(default_factory=LocalHour)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def routes(self) -> Mapping[str, Route]:
        return {"POST /observe": self.observe, "POST /ask-label": self.ask_label, **self.page_routes()}

    def page_routes(self) -> Mapping[str, Route]:
        """What the owner's page asks for."""
        return {
            "GET /labels": self.view,
            "POST /labels/answer": self.answer,
            "POST /labels/snooze": self.snooze,
            "POST /labels/undo": self.undo,
        }

    def observe(self, body: bytes) -> Added:
        """Add samples whose labels a program saw happen: the next word typed, the folder that a photo was put in."""
        return self.local.add(decode(body, AddSamples), kind="implied")

    def ask_label(self, body: bytes) -> Waiting:
        """Keep samples that the owner may be asked about."""
        self._check_may_ask()
        request = decode(body, AskLabel)
        model = self.local.situation.now.model
        check = RowCheck.of_model(model, labelled=False) if model else self._check_without_model()
        rows = [check.row(f"sample {index}", one.x, None).x for index, one in enumerate(request.samples)]
        return Waiting(
            self.local.store.labelling.add([(x, one.shown) for x, one in zip(rows, request.samples, strict=True)])
        )

    def _check_may_ask(self) -> None:
        """Raises RequestError ``owner.taken_back``."""
        if LABELS in self.local.store.agreements.withdrawn():
            reason = reason_taken_back(LABELS)
            raise RequestError(HTTPStatus.FORBIDDEN, reason.code, reason.sentence)

    def view(self, _: bytes) -> LabelView:
        """Opens a question where none is open and one may be asked: whoever looks at the page is asked it."""
        with self._lock:
            return self._view()

    def answer(self, body: bytes) -> LabelView:
        given = decode(body, AnswerLabel)
        store = self.local.store.labelling
        with self._lock:
            state, manifest = store.state(), held_manifest(self.local.store)
            question = None if state.open != given.question else store.find(given.question)
            if question is None:
                detail = "this question is not open any more; look at the page again"
                raise RequestError(HTTPStatus.CONFLICT, "labels.not_open", detail)
            if given.label is None:
                store.drop(question.id, skip(state))
            elif given.label >= manifest.model.classes:
                detail = f"class {given.label}, expected 0 to {manifest.model.classes - 1}"
                raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "labels.no_such_class", detail)
            else:
                store.label(question, given.label, partial(answer, state))
            return self._view()

    def snooze(self, body: bytes) -> LabelView:
        hours = decode(body, SnoozeLabels).hours
        with self._lock:
            store = self.local.store.labelling
            store.save(snooze(store.state(), self.clock() + hours * HOUR_S if hours else 0.0))
            return self._view()

    def undo(self, _: bytes) -> LabelView:
        """Open the question again that was answered last."""
        with self._lock:
            store = self.local.store.labelling
            state = store.state()
            if state.last is None or not store.take_back(state.last, partial(undo, state)):
                raise RequestError(HTTPStatus.CONFLICT, "labels.nothing_to_undo", "there is no answer to be undone")
            return self._view()

    def _check_without_model(self) -> RowCheck:
        return RowCheck(self.local.store.samples.widths(), labelled=False)

    def _view(self) -> LabelView:
        store = self.local.store
        state = store.labelling.state()
        now = self.clock()
        may_ask = LABELS not in store.agreements.withdrawn()
        left = self._left(state, now) if may_ask else 0
        question, model = self._open(state) if may_ask else None, self.local.situation.now.model
        if question is None and left > 0 and model is not None and model.task == "classes":
            question = self._choose(model)
            if question is not None:
                state = ask(state, question.id, day=self._day(now))
                store.labelling.save(state)
                left -= 1
        kinds: Mapping[LabelKind, int] = store.labelling.kinds()
        asked, implied = kinds.get("asked", 0), kinds.get("implied", 0)
        return LabelView(
            question=None if question is None else _question(question, held_manifest(store)),
            left_today=left,
            unlabelled=store.labelling.count(),
            snoozed_until=state.snoozed_until,
            can_undo=state.last is not None,
            given=store.samples.count() - asked - implied,
            asked=asked,
            implied=implied,
        )

    def _left(self, state: Labelling, now: float) -> int:
        return questions_left(state, self.local.config.labels, now=now, day=self._day(now), hour=self._hour())

    def _day(self, now: float) -> int:
        return datetime.fromtimestamp(now).astimezone().toordinal()  # the owner's

    def _open(self, state: Labelling) -> Unlabelled | None:
        """None also where it went to make room: then another is asked."""
        return None if state.open is None else self.local.store.labelling.find(state.open)

    def _choose(self, model: ModelSpec) -> Unlabelled | None:
        from coterie_learning.uncertainty import most_uncertain  # only here: NumPy takes 17 MB

        held = self.local.held()
        found = self.local.store.labelling.newest(COMPARED, x_bytes=FLOAT_BYTES * input_size(model))
        if not found:
            return None
        outputs = held.outputs([one.x for one in found])
        number = most_uncertain([one.id for one in found], outputs, self.local.config.labels.how)
        return next(one for one in found if one.id == number)


def _question(one: Unlabelled, manifest: Manifest) -> LabelQuestion:
    model = manifest.model
    labels = [*manifest.labels, *map(str, range(len(manifest.labels), model.classes))]
    x = array("f", one.x).tolist()
    return LabelQuestion(id=one.id, shown=one.shown, picture=_picture_of(model, len(x)), x=x, options=labels)


def _picture_of(model: ModelSpec, numbers: int) -> tuple[int, int, int] | None:
    if len(model.inputs) != 1 or len(model.inputs[0].shape) != 3:
        return None
    channels, height, width = model.inputs[0].shape
    return (channels, height, width) if channels in (1, 3) and channels * height * width == numbers else None
