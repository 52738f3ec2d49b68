"""A scenario of the user's own device model and samples."""

from pathlib import Path
from typing import Literal

import msgspec

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learners.pair import Pair, compiled_pair, dtypes_of
from coterie.simulation.scenario import Scenario, parse_scenario
from coterie.simulation.streams.users import Users

WINDOW = 1000
"""Batches that a device keeps."""


def own_scenario(pair: Path, data: Path) -> Scenario:
    """Each user of `data` is a device with the model `pair`.

    Raises DoesNotFit or MalformedFile, and what loading and compiling the model raise.
    """
    learner = Pair(file=str(pair))
    spec = compiled_pair(pair, learner.batch_size).spec
    if dtypes_of(spec) not in ({"float32"}, {"int64"}):
        problem = "its inputs are not all float32, or all int64; with --split they may be of any kind"
        raise DoesNotFit(detail=f"streams do not take {pair.name} yet: {problem}")
    only = spec.inputs[0].name if len(spec.inputs) == 1 else "x"
    dtype: Literal["float32", "int64"] = "int64" if dtypes_of(spec) == {"int64"} else "float32"
    inputs = tuple(tensor.name for tensor in spec.inputs)
    stream = Users(file=str(data), input=only, inputs=inputs, classes=spec.classes, dtype=dtype)
    raw = {
        "title": f"{pair.name} on {data.name}",
        "devices": stream.users(),
        "window": WINDOW,
        "stream": msgspec.to_builtins(stream),
        "learner": msgspec.to_builtins(learner),
    }
    return parse_scenario(raw, path=str(data))
