"""What a model answers for one sample."""

import msgspec


class Prediction(msgspec.Struct, frozen=True, tag_field="kind", tag="class"):
    """The most likely class of one sample."""

    label: str
    """What the class is called."""
    index: int
    probability: float


class Output(msgspec.Struct, frozen=True, tag_field="kind", tag="output"):
    """The output for one sample of a model that is not a classifier."""

    output: list[float]
    """The probability of each label, the likeliest token at each position, or the values, flattened."""
