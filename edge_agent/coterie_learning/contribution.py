"""Encodes one device's update and figures as a vector for secure aggregation, and decodes the sum as one update.

Everything is masked: the update, its weight, the number of samples, losses, accuracy, the scalars that a kind of local
training sends, and running statistics. The decoded sum is the mean update of its devices, as a file that merges read.
Where devices add noise, the noise covers the update alone: all updates have full weight, and no figures are sent.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.codec import Codec, PayloadBytes
from coterie_learning.heads import update_specs
from coterie_learning.local import Local
from coterie_learning.privacy import Masking
from coterie_learning.secure_sum.grid import Grid
from coterie_learning.secure_sum.masks import UInt
from coterie_learning.secure_sum.vector import Layout, UInt64, Vector
from coterie_learning.update_files import UpdateFile
from coterie_learning.update_sizes import update_bytes
from coterie_learning.updates import encode_scalars, join_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import running_statistics
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

Float64 = NDArray[np.float64]
FULL_WEIGHT_BITS = 10
LARGEST_BITS = 20
"""Losses, statistics and `Local.scalars` are below two to the power of this."""
_WORD_BITS = 62
_FIGURES = ("loss_before", "loss_after", "accuracy_before", "measured_accuracy")
_WEIGHT, _SAMPLES = 0, 1


class DeviceFigures(NamedTuple):
    """Figures that a device measured for its update."""

    samples: int
    loss_before: float
    loss_after: float
    accuracy_before: float | None


class SummedFigures(NamedTuple):
    """Mean figures of the devices of a sum."""

    samples: int
    """Samples in all; each device reports no more than count."""
    loss_before: float
    loss_after: float
    accuracy_before: float | None


class Summed(NamedTuple):
    """The decoded sum of the devices' vectors."""

    devices: int
    samples: int
    """The sample count for merges that weigh by samples; the number of devices where it is not known."""
    figures: "SummedFigures | None"
    """None under noise, which does not cover figures."""
    payload: bytes
    """The mean update, in the codec that the sum is read with."""


class Contents(NamedTuple):
    """The encoding of the vectors of a sum, the same for all of its devices."""

    model: ModelSpec
    local: Local
    masking: Masking
    members: int
    """Devices in the member list."""
    seed: int
    """Seed of the rotation."""

    @property
    def layout(self) -> Layout:
        return Layout(self.grid.length, self.masking.bits, 1 + self._measured)

    @property
    def grid(self) -> Grid:
        """Raises WireError ``secure_sum.too_few``."""
        count = len(self.local.parts) * sum(math.prod(spec.shape) for spec in self._specs())
        return self.masking.grid(count, self.members, seed=self.seed)

    @property
    def vector_bytes(self) -> int:
        """Size of a device's upload, in bytes."""
        return self.layout.file_bytes(bytes(32))

    def weight_of(self, samples: int) -> int:
        """The weight of an update of this number of samples, at least 1; full weight is 2^`FULL_WEIGHT_BITS`."""
        full = 1 << FULL_WEIGHT_BITS
        most = self.masking.full_samples
        return full if most is None else max(1, min(samples, most) * full // most)

    def vector(
        self, update: UpdateFile, measured: DeviceFigures, base: Tensors, *, seed: int, key: bytes | None = None
    ) -> Vector:
        """The vector that adds `update` to the sum; `base` are the running statistics of the version it started from.

        The same for the same `seed` and `key`; noise, if any, is drawn from the key [32 bytes], which never leaves the
        device. Raises WireError ``update.out_of_range``, or what reading the update raises.
        """
        weight = self.weight_of(measured.samples)
        numbers = np.concatenate([np.empty(0, np.float32), *self._numbers(update)])
        tail = [np.array([weight], np.int64)]
        if self._measured:
            tail += [
                np.array([min(measured.samples, self._most_samples)], np.int64),
                self._fixed(self._figures(measured), weight),
                self._scaled(update.scalars, weight),
                *(self._fixed(one, weight) for one in self._statistics(update.statistics, base)),
            ]
        return Vector(
            self.masking.bits,
            self.grid.rounded(numbers, weight=weight / (1 << FULL_WEIGHT_BITS), seed=seed, key=key),
            np.concatenate(tail).astype(np.uint64),
        )

    def summed(self, numbers: UInt, tail: UInt64, devices: int, base: Tensors, codec: Codec) -> Summed:
        """Decode the sum of the vectors of this number of devices.

        Raises WireError ``secure_sum.wrong_sum`` where it cannot be the sum of such vectors.
        """
        whole = tail.astype(np.int64)
        weight = int(whole[_WEIGHT])
        if not devices <= weight <= devices << FULL_WEIGHT_BITS:
            raise WireError("secure_sum.wrong_sum", f"{devices} devices cannot weigh {weight} together")
        mean = self.grid.mean(numbers, weight=weight / (1 << FULL_WEIGHT_BITS))
        if not self._measured:
            return Summed(devices, devices, None, join_update({}, *self._encoded(mean, codec)))
        self._check(whole, devices)
        means = whole[_SAMPLES + 1 :] / (weight * 2.0**self._places)
        figures = dict(zip(_FIGURES, means[: len(_FIGURES)].tolist(), strict=True))
        known = figures["measured_accuracy"]
        scalars = dict(zip(self._scalars, means[len(_FIGURES) :].tolist(), strict=False))
        beside = [encode_scalars(scalars)] if scalars else []
        return Summed(
            devices,
            int(whole[_SAMPLES]),
            SummedFigures(
                int(whole[_SAMPLES]),
                figures["loss_before"],
                figures["loss_after"],
                figures["accuracy_before"] / known if known > 0 else None,
            ),
            join_update(self._moments(means[self._beside :], base), *self._encoded(mean, codec), *beside),
        )

    def _check(self, whole: NDArray[np.int64], devices: int) -> None:
        """Raises WireError ``secure_sum.wrong_sum``."""
        weight, samples, *means = whole.tolist()
        if not 0 <= samples <= devices * self._most_samples:
            raise WireError("secure_sum.wrong_sum", f"{devices} devices cannot have {samples} samples together")
        largest = weight << (self._places + LARGEST_BITS)
        if min(means) < -largest or max(means) > largest:
            raise WireError("secure_sum.wrong_sum", f"a mean is not below {2**LARGEST_BITS}")
        accuracy, known = means[2 : len(_FIGURES)]
        if not 0 <= accuracy <= known <= weight << self._places:
            raise WireError("secure_sum.wrong_sum", "devices cannot be right more often than always")
        if min(means[len(_FIGURES) : self._beside], default=0) < 0:
            raise WireError("secure_sum.wrong_sum", f"none of {', '.join(self._scalars)} can be below 0")

    @property
    def _measured(self) -> int:
        """How many numbers devices measure: samples, figures, `Local.scalars` and running statistics."""
        if self.masking.noise_multiplier is not None:
            return 0
        return 1 + self._beside + sum(math.prod(spec.shape) for spec in running_statistics(self.model))

    @property
    def _scalars(self) -> Sequence[str]:
        """The names of `Local.scalars`, in the order of the tail."""
        return sorted(self.local.scalars)

    @property
    def _beside(self) -> int:
        """The number of means in the tail before those of running statistics."""
        return len(_FIGURES) + len(self._scalars)

    @property
    def _most_samples(self) -> int:
        """The most samples that one device counts: the limit of its weight, and what the sum has room for."""
        return self.masking.full_samples or 1 << (_WORD_BITS - self.members.bit_length())

    @property
    def _places(self) -> int:
        """Fraction bits of measured numbers."""
        return _WORD_BITS - LARGEST_BITS - FULL_WEIGHT_BITS - self.members.bit_length()

    def _specs(self) -> tuple[TensorSpec, ...]:
        return update_specs(self.model, self.local.scope(), ())

    def _numbers(self, update: UpdateFile) -> Iterator[Float32]:
        for part in self.local.parts:
            for spec in self._specs():
                yield update.numbers(spec.name, 0, math.prod(spec.shape), part=part)

    def _encoded(self, mean: Float32, codec: Codec) -> Iterator[bytes]:
        start = 0
        for _ in self.local.parts:
            tensors: dict[str, Float32] = {}
            for spec in self._specs():
                stop = start + math.prod(spec.shape)
                tensors[spec.name] = mean[start:stop].reshape(spec.shape)
                start = stop
            yield codec.encode(tensors, seed=0).payload

    def _scaled(self, scalars: Mapping[str, float], weight: int) -> NDArray[np.int64]:
        """Rounded up, so that positive numbers stay positive and the order of numbers is preserved."""
        numbers = np.array([scalars[name] for name in self._scalars], np.float64)
        return self._fixed(numbers, weight, what=f"one of {', '.join(self._scalars)}", rounded=np.ceil)

    def _fixed(
        self,
        numbers: Float64,
        weight: int,
        *,
        what: str = "a loss or a running statistic",
        rounded: np.ufunc = np.rint,
    ) -> NDArray[np.int64]:
        if not np.all(np.abs(numbers) < 2.0**LARGEST_BITS):  # NaN is not
            raise WireError("update.out_of_range", f"{what} is not below {2**LARGEST_BITS}")
        found: NDArray[np.int64] = rounded(numbers * 2.0**self._places).astype(np.int64)
        return found * weight

    @staticmethod
    def _figures(measured: DeviceFigures) -> Float64:
        accuracy = measured.accuracy_before
        return np.array([measured.loss_before, measured.loss_after, accuracy or 0.0, accuracy is not None], np.float64)

    def _statistics(self, found: Tensors, base: Tensors) -> Iterator[Float64]:
        """For each pair, the difference of the mean from the base's mean, and the mean square about the base's mean."""
        for pair in self.model.statistics:
            shift = found[pair.mean.name].astype(np.float64) - base[pair.mean.name]
            yield shift.reshape(-1)
            yield (found[pair.variance.name] + shift * shift).reshape(-1)

    def _moments(self, means: Float64, base: Tensors) -> Mapping[str, Float32]:
        merged: dict[str, Float32] = {}
        start = 0
        for pair in self.model.statistics:
            size = math.prod(pair.mean.shape)
            shift = means[start : start + size].reshape(pair.mean.shape)
            square = means[start + size : start + 2 * size].reshape(pair.variance.shape)
            merged[pair.mean.name] = (base[pair.mean.name] + shift).astype(np.float32)
            merged[pair.variance.name] = np.maximum(square - shift * shift, 0).astype(np.float32)
            start += 2 * size
        return {spec.name: merged[spec.name] for spec in running_statistics(self.model)}


def sent_bytes(plan: "Plan", model: ModelSpec) -> PayloadBytes:
    """Bytes that a device sends in a round: its update, or its vector in a sum of the target number of updates.

    Raises WireError ``plan.no_head`` or ``secure_sum.too_few``.
    """
    masking = plan.privacy.masking()
    if masking is None:
        return update_bytes(plan.local, plan.codec, model)
    found = Contents(model, plan.local, masking, members=plan.pace.updates_wanted(), seed=0).vector_bytes
    return PayloadBytes(found, found, found)
