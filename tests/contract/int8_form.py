"""An int8 form of a version as the platform makes it, for other clients to run: ``python -m tests.contract.int8_form``.

The graphs are written, since another PyTorch or onnxruntime may make others; running them takes neither PyTorch nor the
library that quantises. Runtimes differ in how they round a product of int8, so that outputs are the same within
`TOLERANCE`.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from coterie_agent.store.samples import StoredRow
from coterie_agent.training.predictor import Predictor
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Float32, decode_tensors, encode_tensors

WRITTEN = Path(__file__).parent / "int8_form.json"
TOLERANCE = 0.05
"""Largest difference of an output, of which the largest are some 10."""
SHOWN = 8


# Any: the written JSON, of which a few fields are read.
def outputs_of(written: Mapping[str, Any]) -> tuple[Float32, Float32]:
    """What the version, and its form, give for the samples that are written, [samples, classes]."""
    spec = msgspec.convert(written["model"], ModelSpec)
    rows = [StoredRow(0, np.array(x, np.float32).tobytes(), 0) for x in written["x"]]
    received = decode_tensors(b64decode(written["parameters"]), expected=spec.parameters)
    whole = Predictor(b64decode(written["predict"]), spec, received, {}, threads=1)
    return whole.outputs(rows), Predictor.self_contained(b64decode(written["form"]), spec, threads=1).outputs(rows)


def made() -> Mapping[str, object]:
    """A perceptron that knows digits, and its form."""
    # Only now: they take PyTorch, and the library that quantises.
    import tempfile

    import torch
    from torch import nn

    from coterie.cloud.quantise import quantise_stored
    from coterie.evaluation.digits import read_digits
    from tests.coterie.cloud.test_quantise import TRAINED, arguments_of, trained

    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    compiled = trained(module, epochs=10)
    with tempfile.TemporaryDirectory() as directory:
        arguments = arguments_of(compiled, Path(directory))
        Path(arguments.output).parent.mkdir()
        quantise_stored(arguments, lambda _progress: None)
        form = Path(arguments.output).read_bytes()
    x, _ = read_digits()
    one: dict[str, object] = {
        "model": msgspec.to_builtins(compiled.spec),
        "predict": _text(compiled.predict),
        "parameters": _text(encode_tensors(dict(compiled.parameters))),
        "form": _text(form),
        "x": x[TRAINED : TRAINED + SHOWN].reshape(SHOWN, -1).tolist(),
        "tolerance": TOLERANCE,
    }
    whole, its = outputs_of(one)
    return one | {"outputs": whole.tolist(), "form_outputs": its.tolist()}


def _text(content: bytes) -> str:
    return b64encode(content).decode()


if __name__ == "__main__":
    WRITTEN.write_text(json.dumps(made(), indent=1) + "\n", encoding="utf-8")
