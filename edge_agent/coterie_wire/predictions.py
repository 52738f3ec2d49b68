"""Predictions for one sample."""

import msgspec


class Prediction(msgspec.Struct, frozen=True, tag_field="kind", tag="class"):
    """The most likely class of one sample."""

    label: str
    """Name of the class."""
    index: int
    probability: float


class Output(msgspec.Struct, frozen=True, tag_field="kind", tag="output"):
    """The output of a model that is not a classifier, for one sample."""

    output: list[float]
    """The probability of each label, the most likely token at each position, or the values, flattened."""
