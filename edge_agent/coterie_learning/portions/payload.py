"""The encoding of portions: clipped and encoded like an update, and refused where it violates the agreed terms."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie_learning.codec import Codec
from coterie_learning.portions.rows import check_classes, merge_rows, partition_rows
from coterie_learning.portions.rules import PortionRules, portion_specs
from coterie_learning.portions.units import merge_units, partition_units
from coterie_learning.privacy import Privacy
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.tensors import Tensors

_HEADER_BYTES = 1 << 12
"""Bytes allowed for names, shapes and the codec's settings."""


class PortionTerms(NamedTuple):
    """What helper, target and platform agree on before anything is sent."""

    model: ModelSpec
    classes: tuple[int, ...]
    """The target's troubled classes, ascending."""
    rules: PortionRules
    """Which part of a model is sent, and how much of it."""
    codec: Codec
    privacy: Privacy

    @property
    def specs(self) -> tuple[TensorSpec, ...]:
        """The tensors of the portion.

        Raises WireError ``portion.unsupported`` or ``portion.unknown_class``.
        """
        return portion_specs(self.rules, self.model, self.classes)

    @property
    def largest_bytes(self) -> int:
        """Upper bound, in bytes, of a payload that fits these terms."""
        return _HEADER_BYTES + sum(200 + 8 * math.prod(spec.shape) for spec in self.specs)


def encode_portion(terms: PortionTerms, parameters: Tensors, *, reference: Tensors, seed: int) -> bytes:
    """The payload of a helper with `parameters`; the same seed gives the same bytes.

    A whole model is sent as its difference from `reference`, the version that both sides have.

    Raises WireError ``portion.unsupported``, ``portion.unknown_class`` or ``update.not_finite``.
    """
    match terms.rules.portion:
        case "head":
            portion = partition_rows(parameters, terms.model, terms.classes)
        case "head_and_units":
            portion = partition_units(parameters, terms.model, terms.classes, terms.rules.share)
        case "learner":
            check_classes(terms.classes, terms.model.classes)
            portion = {name: tensor - reference[name] for name, tensor in parameters.items()}
    return terms.codec.encode(terms.privacy.protect(portion, seed=seed), seed=seed).payload


def decode_portion(terms: PortionTerms, payload: bytes | memoryview) -> Tensors:
    """The tensors of a portion, which must be exactly those of `terms`; they may be views into it.

    Raises WireError ``portion.unsupported``, ``portion.unknown_class``, ``update.malformed``, ``update.wrong_codec``,
    ``update.wrong_shape`` or ``update.not_finite``, before it allocates more than the payload's own size.
    """
    return terms.codec.decode(payload, expected=terms.specs)


def merge_portion(terms: PortionTerms, parameters: Tensors, portion: Tensors, *, known: Sequence[int]) -> Tensors:
    """The target's parameters with the portion merged; `known` are the classes that the target has seen.

    A whole model is not merged but stored beside the target's own, see `learner_parameters`.
    """
    match terms.rules.portion:
        case "head":
            return merge_rows(parameters, terms.model, portion, terms.classes, known)
        case "head_and_units":
            return merge_units(parameters, terms.model, portion, terms.classes, known)
        case "learner":
            raise ValueError("a whole model is kept beside the target's own, not merged into it")


def learner_parameters(portion: Tensors, reference: Tensors) -> Tensors:
    """The helper's parameters, float32, from their difference to `reference`."""
    return {name: (reference[name] + tensor).astype(np.float32) for name, tensor in portion.items()}
