"""What a phone's browser computes with, onnxruntime's WebAssembly, beside the agent's onnxruntime: one thread each.

Under Node, whose engine is Chromium's, with the very runtime that the phone's page ships (`make phone` fetches it).
Processor time of both, in turns, holds on a busy machine too; other browsers' engines are others.
"""

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnxruntime

from coterie.cloud.quantise import quantise_stored
from coterie_wire.contract import version_names
from coterie_wire.tensors import Array
from tests.benchmarks.processes.on_onnxruntime import load
from tests.benchmarks.report import Figure
from tests.benchmarks.train_step import ENTRIES, lay_out
from tests.coterie.cloud.test_quantise import IMAGE, Convolutional, Wide, arguments_of, trained
from tests.portability.cases import listed

BATCH = 32
PROGRAM = Path(__file__).parent / "processes" / "on_webassembly.mjs"
MODULES = Path(__file__).parents[2] / "frontend" / "phone"
WARM_S = 3.0
"""Until the engine has compiled a second time what is run often."""
TURN_S = 0.2
TURNS = 5
MOST = 3.0
"""A step of the demo's network takes so many times the native one's, at most."""
QUICKER = 1.5
"""An int8 form is so many times as quick as float32, at least."""
Turn = Callable[[float], float]
"""Runs for so many seconds of processor time, and gives those of one run."""


def measure() -> list[Figure]:
    return [*steps(), *forms()]


def steps() -> Iterator[Figure]:
    """The train step of the demo's network and of each model of the zoo."""
    for name, entry in ENTRIES.items():
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place, "step")
            lay_out(directory, entry, BATCH)
            with np.load(directory / "feeds.npz") as stored:
                feeds = dict(stored)
            with _in_webassembly(Path(place, "wasm"), (directory / "train_step.onnx").read_bytes(), feeds) as theirs:
                times, webassembly_s, native_s = _ratio(theirs, _natively(load(directory, threads=1).step))
        target = f"; target <= {MOST:g} times" if name == "demo" else ""
        against = f"native, {1e3 * native_s:.3f} ms{target}"
        case = f"{name}, batch {BATCH}"
        yield Figure(case, "train step in WebAssembly", 1e3 * webassembly_s, "ms", against, 1 / times)


def forms() -> Iterator[Figure]:
    """Int8 forms of models that are trained on digits, on one sample: WebAssembly runs them, and how quickly."""
    sample = np.zeros((1, *IMAGE), np.float32)
    for name, module in (("three wide layers", Wide()), ("CNN", Convolutional(160))):
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place)
            compiled = trained(module, epochs=6)
            arguments = arguments_of(compiled, directory, samples=797)
            Path(arguments.output).parent.mkdir()
            result = quantise_stored(arguments, lambda _progress: None)
            if result.offered is None:
                continue
            whole = {role: compiled.parameters[tensor] for tensor, role in version_names(compiled.spec).items()}
            (given,) = compiled.spec.inputs
            wanted = {value.name for value in onnxruntime.InferenceSession(compiled.predict).get_inputs()}
            feeds = {key: array for key, array in {**whole, given.name: sample}.items() if key in wanted}
            int8 = Path(arguments.output).read_bytes()
            with (
                _in_webassembly(directory / "whole", compiled.predict, feeds) as float32,
                _in_webassembly(directory / "int8", int8, {given.name: sample}) as quantised,
            ):
                times, whole_s, int8_s = _ratio(float32, quantised)
        case = f"{name}, {result.offered}"
        against = f"float32, {1e6 * whole_s:.0f} µs; target >= {QUICKER:g} times"
        yield Figure(case, "one run in WebAssembly", 1e6 * int8_s, "µs", against, times)


@contextmanager
def _in_webassembly(directory: Path, graph: bytes, feeds: Mapping[str, Array]) -> Iterator[Turn]:
    content = bytearray()
    directory.mkdir()
    (directory / "graph.onnx").write_bytes(graph)
    (directory / "feeds.json").write_text(json.dumps(listed(feeds, content)))
    (directory / "feeds.bin").write_bytes(content)
    command = ["node", str(PROGRAM), str(directory), str(MODULES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None and answers is not None, "they are pipes"

        def turn(seconds: float) -> float:
            asked.write(f"{seconds}\n")
            asked.flush()
            return float(answers.readline())

        yield turn
        asked.close()


def _natively(step: Callable[[], object]) -> Turn:
    def turn(seconds: float) -> float:
        before, count = time.process_time(), 0
        while count == 0 or time.process_time() - before < seconds:
            step()
            count += 1
        return (time.process_time() - before) / count

    return turn


def _ratio(one: Turn, other: Turn) -> tuple[float, float, float]:
    """How many times as long `one` takes as `other`, and seconds of both: medians over turns."""
    for side in (one, other):
        side(WARM_S)
    turns = [(one(TURN_S), other(TURN_S)) for _ in range(TURNS)]
    ratio = statistics.median(a / b for a, b in turns)
    return ratio, *(statistics.median(side) for side in zip(*turns, strict=True))


PARTS = {"steps": steps, "forms": forms}
