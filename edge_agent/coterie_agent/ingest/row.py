"""One sample from outside, checked."""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Self, TypeAlias, cast

import msgspec
from msgspec import Meta

from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.samples import NO_CLASS, Row, Widths
from coterie_wire.bundle import MAX_CLASSES, Dtype, ModelSpec

Features: TypeAlias = Iterable[float | str] | Mapping[str, Sequence[float]]
Target: TypeAlias = float | str | Sequence[float | str] | None
MAX_WHOLE = 2**24 - 1
"""Up to it float32, in which samples are stored, tells whole numbers apart."""


WHOLE: Mapping[Dtype, tuple[int, int]] = {"uint8": (0, 255), "bool": (0, 1)}
"""The least and the greatest number of dtypes that are narrower."""


class JsonRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sample as JSON."""

    x: Annotated[list[float], Meta(min_length=1)] | dict[str, list[float]]
    """Features, flattened in the order of the model's inputs, or by the names of the inputs."""
    y: float | list[float] | None = None
    """A class, or the numbers of a target, flattened."""


@dataclass
class RowCheck:
    """What rows must be like. Rows without a target are for prediction."""

    widths: Widths | None
    """Of every row; None: as the first one has."""
    model: ModelSpec | None = None
    """The model that the device holds, once it is known."""
    labelled: bool = True

    @classmethod
    def of_model(cls, model: ModelSpec, *, labelled: bool = True) -> Self:
        """Rows that `model` takes."""
        features = sum(math.prod(tensor.shape) for tensor in model.inputs)
        targets = 0 if model.task == "classes" else math.prod(model.target.shape)
        return cls(Widths(features, targets), model, labelled)

    def row(self, where: str, values: Features, target: Target) -> Row:
        """The sample at `where` ("line 7").

        Raises AgentError ``ingest.not_a_number``, ``ingest.wrong_width`` or ``ingest.bad_label``.
        """
        x = _numbers(where, self._in_order(where, values))
        several = None if target is None or isinstance(target, (str, float, int)) else target
        if self.widths is None:
            self.widths = Widths(len(x), len(several or ()))
        if len(x) != self.widths.features:
            raise refusal("ingest.wrong_width", f"{where}: {len(x)} features, expected {self.widths.features}")
        self._check_whole(where, x)
        if not self.labelled:
            return Row(x.tobytes(), 0)
        if self.widths.targets:
            given = [cast(float | str | None, target)] if several is None else several
            return Row(x.tobytes(), NO_CLASS, self._target(where, given).tobytes())
        if several is not None:
            raise refusal("ingest.bad_label", f"{where}: a target of {len(several)} numbers, expected a class")
        return Row(x.tobytes(), self._label(where, cast(float | str | None, target)))

    def _in_order(self, where: str, values: Features) -> Iterable[float | str]:
        if not isinstance(values, Mapping):
            return values
        names = [] if self.model is None else [tensor.name for tensor in self.model.inputs]
        if set(names) != set(values):
            known = ", ".join(names) or "not known before the device holds a model"
            raise refusal("ingest.wrong_width", f"{where}: inputs {', '.join(sorted(values))}, the model's are {known}")
        return chain.from_iterable(values[name] for name in names)

    def _check_whole(self, where: str, x: "array[float]") -> None:
        start = 0
        for tensor in () if self.model is None else self.model.inputs:
            end = start + math.prod(tensor.shape)
            least, most = WHOLE.get(tensor.dtype, (-MAX_WHOLE, MAX_WHOLE))
            if tensor.dtype != "float32" and not all(n == int(n) and least <= n <= most for n in x[start:end]):
                detail = f"input {tensor.name} takes whole numbers, {least} to {most}"
                raise refusal("ingest.not_a_number", f"{where}: {detail}")
            start = end

    def _target(self, where: str, values: Sequence[float | str | None]) -> "array[float]":
        assert self.widths is not None, "the first row tells them"
        if len(values) != self.widths.targets or None in values:
            found = "no target" if None in values else f"a target of {len(values)} numbers"
            raise refusal("ingest.bad_label", f"{where}: {found}, expected {self.widths.targets}")
        target = _numbers(where, cast(Sequence[float | str], values))
        if self.model is not None and self.model.task == "tokens":
            most = self.model.output.shape[-1]
            if not all(n == int(n) and 0 <= n < most for n in target):
                raise refusal("ingest.bad_label", f"{where}: the tokens are whole numbers, 0 to {most - 1}")
        elif (
            self.model is not None
            and self.model.target.dtype == "int64"
            and not all(n == int(n) and abs(n) <= MAX_WHOLE for n in target)
        ):
            raise refusal("ingest.bad_label", f"{where}: targets are whole numbers, of at most {MAX_WHOLE}")
        return target

    def _label(self, where: str, label: float | str | None) -> int:
        classes = self.model.classes if self.model else MAX_CLASSES
        try:
            number = float(label)  # type: ignore[arg-type]  # None raises TypeError, as meant
            if number == int(number) and 0 <= number < classes:
                return int(number)
        except (TypeError, ValueError, OverflowError):
            pass
        expected = f"a whole number, 0 to {classes - 1}"
        raise refusal("ingest.bad_label", f"{where}: label {str(label)[:60]!r}, expected {expected}")


def _numbers(where: str, values: Iterable[float | str]) -> "array[float]":
    try:
        numbers = array("f", map(float, values))
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal("ingest.not_a_number", f"{where}: {error}") from error
    if not all(map(math.isfinite, numbers)):
        raise refusal("ingest.not_a_number", f"{where}: a number is not finite")
    return numbers


def refusal(code: str, detail: str) -> AgentError:
    """An error of the data, with its exit code."""
    return AgentError(code, detail, exit_code=Exit.BAD_DATA)
