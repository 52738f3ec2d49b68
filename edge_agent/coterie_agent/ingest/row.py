"""One sample from outside, checked."""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.samples import Row
from coterie_wire.bundle import MAX_CLASSES


class JsonRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sample as JSON."""

    x: Annotated[list[float], Meta(min_length=1)]
    """Features, flattened in the order of the model's inputs."""
    y: int | None = None


@dataclass
class RowCheck:
    """What rows must be like. Rows without a label are for prediction."""

    features: int | None
    """Features of every row; None: as many as the first has."""
    classes: int | None = None
    """Labels are 0 to classes - 1; None: no model is known yet."""
    labelled: bool = True

    def row(self, where: str, values: Iterable[float | str], label: float | str | None) -> Row:
        """The sample at `where` ("line 7").

        Raises AgentError ``ingest.not_a_number``, ``ingest.wrong_width`` or ``ingest.bad_label``.
        """
        try:
            x = array("f", map(float, values))
        except (ValueError, TypeError, OverflowError) as error:
            raise refusal("ingest.not_a_number", f"{where}: {error}") from error
        if not all(map(math.isfinite, x)):
            raise refusal("ingest.not_a_number", f"{where}: a feature is not a finite number")
        if self.features is None:
            self.features = len(x)
        if len(x) != self.features:
            raise refusal("ingest.wrong_width", f"{where}: {len(x)} features, expected {self.features}")
        return Row(x.tobytes(), self._label(where, label) if self.labelled else 0)

    def _label(self, where: str, label: float | str | None) -> int:
        try:
            number = float(label)  # type: ignore[arg-type]  # None raises TypeError, as meant
            if number == int(number) and 0 <= number < (self.classes or MAX_CLASSES):
                return int(number)
        except (TypeError, ValueError, OverflowError):
            pass
        end = (self.classes or MAX_CLASSES) - 1
        raise refusal("ingest.bad_label", f"{where}: label {str(label)[:60]!r}, expected a whole number, 0 to {end}")


def refusal(code: str, detail: str) -> AgentError:
    """An error of the data, with its exit code."""
    return AgentError(code, detail, exit_code=Exit.BAD_DATA)
