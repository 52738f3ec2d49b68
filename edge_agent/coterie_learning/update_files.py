"""Uploaded updates, read a span of parameters at a time."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coterie_learning.codec import Codec
from coterie_learning.exact_sum import LARGEST
from coterie_learning.heads import output_layer, sent_specs, update_specs
from coterie_learning.local import DELTA, Local
from coterie_learning.payloads import Coded, Extent, Payload
from coterie_learning.subsets import PlacedPayload, chosen
from coterie_learning.updates import decode_draw, decode_scalars, split_update
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import running_statistics
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import Source, leading_tensor_file
from coterie_wire.tensors import Float32, Tensors, encoded_bytes


class Contents(NamedTuple):
    """The format of the updates of a round."""

    model: ModelSpec
    codec: Codec
    local: Local

    def open(self, source: Source, classes: Sequence[int]) -> "UpdateFile":
        """The update in `source`, whose statistics are read and whose headers are checked.

        Raises OSError, or WireError ``update.malformed``, ``update.wrong_codec``, ``update.wrong_shape``,
        ``update.wrong_classes``, ``update.out_of_range`` or ``update.not_finite``.
        """
        specs = running_statistics(self.model)
        begin = encoded_bytes(specs) if specs else 0
        statistics = split_update(source.read(0, begin), self.model).statistics
        rest, files = source.part(begin, source.size_bytes), []
        for _ in range(self.local.files() - 1):
            files.append(_first(rest))
            rest = rest.part(files[-1].size_bytes, rest.size_bytes)
        payloads = self._payloads([*files, rest][: len(self.local.parts)], rest, classes)
        names = self.local.scalars
        beside = [*files, rest][len(self.local.parts) :]
        scalars = decode_scalars(_bytes(beside[0]), names) if names else {}
        return UpdateFile(self, payloads, statistics, scalars, classes)

    def _payloads(self, files: Sequence[Source], last: Source, classes: Sequence[int]) -> Mapping[str, Payload]:
        """Payloads by part; the `last` file of the update determines its random subset, if any."""
        scope = self.local.scope()
        expected = update_specs(self.model, scope, classes)
        opened = [self.codec.open(file, expected=expected) for file in files]
        if scope.share < 1:
            specs = sent_specs(self.model, scope, classes)
            positions = chosen(specs, scope.share, decode_draw(_bytes(last)))
            opened = [PlacedPayload(one, specs, positions) for one in opened]
        return dict(zip(self.local.parts, opened, strict=True))


def _bytes(source: Source) -> bytes | memoryview:
    return source.read(0, source.size_bytes)


def _first(source: Source) -> Source:
    try:
        return leading_tensor_file(source)
    except WireError as error:
        raise WireError("update.malformed", error.detail) from error


class UpdateFile:
    """An open update."""

    def __init__(
        self,
        contents: Contents,
        payloads: Mapping[str, Payload],
        statistics: Tensors,
        scalars: Mapping[str, float],
        classes: Sequence[int],
    ) -> None:
        self.statistics = statistics
        """The running statistics as the device measured them."""
        self.scalars = scalars
        """What its plan's `local` sends as one number each."""
        self._contents, self._payloads, self._classes = contents, payloads, list(classes)
        self._customised = output_layer(contents.model) if contents.local.scope().head == "seen" else ()

    def compared(self) -> Mapping[str, float]:
        """Its scalars that are compared with those of its cohort."""
        return {name: self.scalars[name] for name in self._contents.local.compared}

    def scale(self) -> float:
        """The factor of its parts. Raises WireError ``update.out_of_range``."""
        return self._contents.local.scale(self.scalars)

    def extent(self) -> Extent:
        """Its size over all parts, as the plan's `local` scales it; reads every number.

        Raises OSError, or WireError ``tensors.malformed``, ``update.not_finite`` or ``update.out_of_range``.
        """
        extents = [payload.extent() for payload in self._payloads.values()]
        extent = Extent(max(one.bound for one in extents), math.hypot(*(one.norm for one in extents)) / self.scale())
        if extent.bound >= LARGEST:
            raise WireError("update.out_of_range", f"parameters differ by up to {extent.bound:g}, {LARGEST:g} or more")
        return extent

    def coded(self, name: str, start: int, stop: int, *, part: str = DELTA) -> Coded | None:
        """Parameters [start, stop) of tensor `name` as integers times scales, where the codec supports it and has them.

        Raises OSError or WireError ``tensors.malformed``.
        """
        payload = self._payloads[part]
        is_coded = self._contents.codec.summable and self._contents.local.scope().share == 1
        if not is_coded or name not in payload.specs or name in self._customised:
            return None
        return payload.coded(name, start, stop)

    def numbers(self, name: str, start: int, stop: int, *, part: str = DELTA) -> Float32:
        """Parameters [start, stop) of tensor `name`, zero where nothing was trained.

        Raises OSError or WireError ``tensors.malformed``.
        """
        payload = self._payloads[part]
        if name not in payload.specs:
            return np.zeros(stop - start, np.float32)
        if name in self._customised:
            return self._placed(payload, name)[start:stop]
        return payload.numbers(name, start, stop)

    def _placed(self, payload: Payload, name: str) -> Float32:
        """A tensor of the output layer, of which the update has the rows of some classes."""
        shape = payload.specs[name].shape
        whole = np.zeros((self._contents.model.classes, math.prod(shape[1:])), np.float32)
        rows = payload.numbers(name, 0, math.prod(shape))
        whole[self._classes] = rows.reshape(len(self._classes), -1)
        return whole.reshape(-1)
