"""Checks one sample from a file or program."""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Self, TypeAlias, cast

import msgspec
from msgspec import UNSET, Meta

from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.samples import NO_CLASS, Row, Widths
from coterie_wire.bundle import MAX_CLASSES, Dtype, ModelSpec
from coterie_wire.contract import accepted_sizes, at_length, input_size, length_of, target_size

Features: TypeAlias = Iterable[float | str] | Mapping[str, Sequence[float]]
Target: TypeAlias = float | str | Sequence[float | str] | None
MAX_WHOLE = 2**24 - 1
"""Up to this, float32, in which samples are stored, represents every integer exactly."""


WHOLE: Mapping[Dtype, tuple[int, int]] = {"uint8": (0, 255), "bool": (0, 1)}
"""The range of narrower dtypes."""


class JsonRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sample as JSON."""

    x: Annotated[list[float], Meta(min_length=1)] | dict[str, list[float]]
    """Features, flattened in the order of the model's inputs, or by the names of the inputs."""
    y: float | list[float] | None = None
    """A class, or the numbers of a target, flattened."""


@dataclass
class RowCheck:
    """The requirements on rows. Rows without a target are for prediction."""

    widths: Widths | None
    """The widths of every row; None: those of the first one."""
    model: ModelSpec | None = None
    """The model that the device holds, once it is known."""
    labelled: bool = True

    @classmethod
    def of_model(cls, model: ModelSpec, *, labelled: bool = True) -> Self:
        """Rows that `model` takes."""
        return cls(Widths(input_size(model), target_size(model)), model, labelled)

    @property
    def one_width(self) -> bool:
        """Whether all rows have the same number of values."""
        return self.model is None or self.model.length is UNSET

    def row(self, where: str, values: Features, target: Target) -> Row:
        """The sample at `where` ("line 7").

        Raises AgentError ``ingest.not_a_number``, ``ingest.wrong_width``, ``ingest.wrong_length`` or
        ``ingest.bad_label``.
        """
        x = _numbers(where, self._in_order(where, values))
        several = None if target is None or isinstance(target, (str, float, int)) else target
        if self.widths is None:
            self.widths = Widths(len(x), len(several or ()))
        model, wanted = self._at_length_of(where, len(x))
        if isinstance(values, Mapping) and model is not None:
            _check_inputs(where, values, model)
        _check_whole(where, x, model)
        if not self.labelled:
            return Row(x.tobytes(), 0)
        if wanted:
            given = [cast(float | str | None, target)] if several is None else several
            return Row(x.tobytes(), NO_CLASS, _target(where, given, wanted, model).tobytes())
        if several is not None:
            raise refusal("ingest.bad_label", f"{where}: a target of {len(several)} numbers, expected a class")
        return Row(x.tobytes(), self._label(where, cast(float | str | None, target)))

    def _at_length_of(self, where: str, numbers: int) -> tuple[ModelSpec | None, int]:
        """The model, if known, at the length of samples of so many `numbers`, and the length of their targets."""
        assert self.widths is not None, "the first row tells them"
        if self.model is not None and self.model.length is not UNSET:
            length = length_of(self.model, numbers)
            if length is None:
                taken = accepted_sizes(self.model)
                raise refusal("ingest.wrong_length", f"{where}: {numbers} features, expected {taken}")
            model = at_length(self.model, length)
            return model, target_size(model)
        if numbers != self.widths.features:
            raise refusal("ingest.wrong_width", f"{where}: {numbers} features, expected {self.widths.features}")
        return self.model, self.widths.targets

    def _in_order(self, where: str, values: Features) -> Iterable[float | str]:
        if not isinstance(values, Mapping):
            return values
        names = [] if self.model is None else [tensor.name for tensor in self.model.inputs]
        if set(names) != set(values):
            known = ", ".join(names) or "not known before the device holds a model"
            raise refusal("ingest.wrong_width", f"{where}: inputs {', '.join(sorted(values))}, the model's are {known}")
        return chain.from_iterable(values[name] for name in names)

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


def _check_inputs(where: str, values: Mapping[str, Sequence[float]], model: ModelSpec) -> None:
    for tensor in model.inputs:
        found, wanted = len(values[tensor.name]), math.prod(tensor.shape)
        if found != wanted:
            raise refusal("ingest.wrong_width", f"{where}: {found} numbers of input {tensor.name}, expected {wanted}")


def _check_whole(where: str, x: "array[float]", model: ModelSpec | None) -> None:
    start = 0
    for tensor in () if model is None else model.inputs:
        end = start + math.prod(tensor.shape)
        least, most = WHOLE.get(tensor.dtype, (-MAX_WHOLE, MAX_WHOLE))
        if tensor.dtype != "float32" and not all(n == int(n) and least <= n <= most for n in x[start:end]):
            detail = f"input {tensor.name} takes whole numbers, {least} to {most}"
            raise refusal("ingest.not_a_number", f"{where}: {detail}")
        start = end


def _target(where: str, values: Sequence[float | str | None], wanted: int, model: ModelSpec | None) -> "array[float]":
    if len(values) != wanted or None in values:
        found = "no target" if None in values else f"a target of {len(values)} numbers"
        raise refusal("ingest.bad_label", f"{where}: {found}, expected {wanted}")
    target = _numbers(where, cast(Sequence[float | str], values))
    if model is not None and model.task == "tokens":
        most = model.output.shape[-1]
        if not all(n == int(n) and 0 <= n < most for n in target):
            raise refusal("ingest.bad_label", f"{where}: the tokens are whole numbers, 0 to {most - 1}")
    elif (
        model is not None
        and model.target.dtype == "int64"
        and not all(n == int(n) and abs(n) <= MAX_WHOLE for n in target)
    ):
        raise refusal("ingest.bad_label", f"{where}: targets are whole numbers, of at most {MAX_WHOLE}")
    return target


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
