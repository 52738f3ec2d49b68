"""The durable step of a row that has states: one compare-and-set, with the reason and the hint that go with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import models
from django.db.models import Q, QuerySet

from coterie.core.events import notify_consoles
from coterie_wire.conditions import Reason

MAX_SENTENCE = 400
"""Characters of a reason's sentence that are kept."""

AT_ONCE = 500
"""Rows of one statement: databases bound how many values it may name."""


class Stateful(models.Model):
    """A row with a state, and the reason why it waits or why it ended."""

    state: "models.CharField[str, str]"
    """Each model has its own choices."""
    reason_code = models.CharField(max_length=64, blank=True)
    reason_sentence = models.CharField(max_length=MAX_SENTENCE, blank=True)

    class Meta:
        abstract = True

    def reason(self) -> Reason | None:
        """Why it waits, or why it ended; None where there is no reason."""
        return Reason(self.reason_code, self.reason_sentence) if self.reason_code else None


ALWAYS = Q()
Row = TypeVar("Row", bound=Stateful)


@dataclass(frozen=True)
class Steps(Generic[Row]):
    """The states of a model's rows and the transitions between them; of all callers that try a transition, one
    succeeds.
    """

    model: type[Row]
    ways: Mapping[str, frozenset[str]]
    """By state, those that may follow it; a final state has none."""
    app: str
    """The app whose data consoles reload."""

    def take(self, row: Row, to: str, held: Q = ALWAYS, /, *, reason: Reason | None, **changes: object) -> bool:
        """Take `row` from the state it was read in to `to`; False if another process moved it, or `held` does not hold
        for it.

        Afterwards the row as given has the values of the database, whichever process moved it.
        """
        assert to in self.ways.get(row.state, ()), f"{self.model.__name__} does not go from {row.state} to {to}"
        return self._take(row, to, held & Q(state=row.state), reason, changes)

    def take_from_any(self, row: Row, to: str, /, *, reason: Reason | None, **changes: object) -> bool:
        """Take `row` to `to` if its state in the database, whichever that is now, allows it."""
        before = [state for state, ways in self.ways.items() if to in ways]
        return self._take(row, to, Q(state__in=before), reason, changes)

    def take_all(self, rows: "QuerySet[Row]", to: str, /, *, reason: Reason | None, **changes: object) -> list[Row]:
        """Take those of `rows` to `to` whose state allows it, and return them as they were before.

        The caller is in a transaction; the rows are locked until it ends.
        """
        before = [state for state, ways in self.ways.items() if to in ways]
        held = list(rows.filter(state__in=before).select_for_update(of=("self",), no_key=True).order_by("pk"))
        values = {"state": to, **reason_columns(reason), **changes}
        for begin in range(0, len(held), AT_ONCE):
            keys = [row.pk for row in held[begin : begin + AT_ONCE]]
            self.model._default_manager.filter(pk__in=keys).update(**values)
        if held:
            notify_consoles(self.app)
        return held

    def explain(self, row: Row, reason: Reason, **changes: object) -> bool:
        """Record why `row` stays in its state; writes only what has changed. False if nothing was written."""
        if row.reason() == reason:
            return False
        values = {**reason_columns(reason), **changes}
        written = self.model._default_manager.filter(pk=row.pk, state=row.state).update(**values)
        if written:
            for name, value in values.items():
                setattr(row, name, value)
            notify_consoles(self.app)
        return written == 1

    def _take(self, row: Row, to: str, expected: Q, reason: Reason | None, changes: Mapping[str, object]) -> bool:
        values = {"state": to, **reason_columns(reason), **changes}
        if not self.model._default_manager.filter(expected, pk=row.pk).update(**values):
            row.refresh_from_db()
            return False
        for name, value in values.items():
            setattr(row, name, value)
        notify_consoles(self.app)
        return True


def reason_columns(reason: Reason | None) -> dict[str, str]:
    """A reason as the columns of a `Stateful` row."""
    if reason is None:
        return {"reason_code": "", "reason_sentence": ""}
    return {"reason_code": reason.code, "reason_sentence": reason.sentence[:MAX_SENTENCE]}
