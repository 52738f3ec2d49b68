"""The work of job `quantise`: int8 forms of a device model are made, run, measured, and rejected where they gain
nothing.

Every form is run before it is offered: graphs with a scale for each channel of a MatMul load and then fail.
"""

import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.calibrate import CalibrationDataReader
from onnxruntime.quantization.shape_inference import quant_pre_process

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.quantise_job import (
    FEWEST_SAMPLES,
    FormFigures,
    Method,
    QuantiseArguments,
    QuantiseResult,
    TooFewSamples,
    TriedForm,
)
from coterie.evaluation.datasets import Dataset, read_model_dataset
from coterie.evaluation.scoring import BATCH, Evaluation, open_session, read_frozen, score
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.contract import LOSSES, TARGET, version_names
from coterie_wire.tensors import Array, Float32, decode_tensors

CALIBRATION = 200
"""Samples at most; a quarter of a small data set."""
WARM_UP, RUNS = 20, 200
SMALLER = 0.5
"""A form larger than this share of float32 must be faster to be offered."""
QUICKER = 1.1
ABOUT_AS_QUICK = 1.25
SEVEN_BITS = True
"""Of weights. With eight bits, x86 without VNNI saturates sums of two products, and gives different answers."""
CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
PRODUCTS = frozenset({"MatMul", "Gemm"})
RECURRENT = frozenset({"GRU", "LSTM", "RNN"})
Clock = Callable[[], float]
Run = Callable[[Mapping[str, Array]], Float32]
"""The output [n, *output] for inputs by name."""


class Form(NamedTuple):
    """A quantised graph."""

    tried: TriedForm
    graph: bytes


@contextmanager
def _without_advice() -> Iterator[None]:
    """Suppress the library's advice on the root logger to do what is done here already."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def quantise_stored(
    arguments: QuantiseArguments, report: ReportProgress, *, clock: Clock = time.perf_counter
) -> QuantiseResult:
    """Make, run and measure the int8 forms, and write the fastest acceptable one; `clock` is in seconds.

    Raises MalformedDataset or TooFewSamples.
    """
    model = arguments.model
    dataset = read_model_dataset(Path(arguments.dataset), model)
    count = len(dataset.labels)
    if count < FEWEST_SAMPLES:
        raise TooFewSamples(samples=count, fewest=FEWEST_SAMPLES)
    order = np.random.default_rng(0).permutation(count)
    kept = min(CALIBRATION, count // 4)
    calibration, held_out = dataset.take(order[:kept]), dataset.take(order[kept:])
    predict = Path(arguments.predict).read_bytes()
    tensors = decode_tensors(Path(arguments.parameters).read_bytes(), expected=model.version)
    weights = {**_called(tensors, model), **read_frozen(arguments.frozen, model)}
    files = filter(None, (arguments.parameters, arguments.frozen))
    size_bytes = len(predict) + sum(Path(path).stat().st_size for path in files)
    float32 = _measure(_with_weights(predict, weights, model), held_out, model, size_bytes, clock)
    forms = []
    with _without_advice():
        folded = fold(predict, weights, model)
        methods = _methods(folded)
        for place, method in enumerate(methods):
            report(Progress(method.replace("_", " "), place, len(methods)))
            forms.append(_try(method, folded, calibration, held_out, arguments, float32, clock))
    tried = tuple(form.tried for form in forms)
    best = _best([form for form in forms if form.tried.refused is None])
    if best is not None:
        Path(arguments.output).write_bytes(best.graph)
    return QuantiseResult(
        samples=len(held_out.labels),
        calibration=kept,
        float32=float32,
        tried=tried,
        offered=None if best is None else best.tried.method,
        graph=None if best is None else BlobRef.of_bytes(best.graph),
        refused=None if best is not None else _why(tried),
    )


def fold(predict: bytes, weights: Mapping[str, Array], model: ModelSpec) -> onnx.ModelProto:
    """The prediction graph of one version alone: it contains its tensors, and has the output only."""
    whole = onnx.load_from_string(predict)
    weights = {name: weights[name] for name in (value.name for value in whole.graph.input) if name in weights}
    inputs = [value for value in whole.graph.input if value.name not in weights]
    del whole.graph.input[:]
    whole.graph.input.extend(inputs)
    whole.graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items())
    if any(value.name == LOSSES for value in whole.graph.output):
        taken = [value.name for value in inputs if value.name != TARGET]
        whole = onnx.utils.Extractor(whole).extract_model(taken, [model.output.name])
    return whole


def _methods(folded: onnx.ModelProto) -> Sequence[Method]:
    """The methods worth trying on this graph. Convolutions without known ranges are four times slower than float32."""
    there = {node.op_type for node in folded.graph.node}
    methods: list[Method] = []
    if there & (CONVOLUTIONS | PRODUCTS):
        methods += ["static_minmax", "static_percentile"]
    if there & CONVOLUTIONS:
        methods.append("static_convolutions")
    elif there & (PRODUCTS | RECURRENT):
        methods.append("dynamic")
    return methods


def _try(
    method: Method,
    folded: onnx.ModelProto,
    calibration: Dataset,
    held_out: Dataset,
    arguments: QuantiseArguments,
    float32: FormFigures,
    clock: Clock,
) -> Form:
    try:
        graph = _quantised(method, folded, calibration)
        measured = _measure(_alone(graph, arguments.model), held_out, arguments.model, len(graph), clock)
    except Exception as error:  # noqa: BLE001 - the library's and onnxruntime's exceptions share no base class
        text = " ".join(str(error).split())[:200]
        return Form(TriedForm(method, None, None, Reason("quantise.does_not_run", f"it does not run: {text}")), b"")
    points = _points(float32, measured)
    return Form(
        TriedForm(method, measured, points, why_not_offered(float32, measured, points, most=arguments.max_loss_points)),
        graph,
    )


def _quantised(method: Method, folded: onnx.ModelProto, calibration: Dataset) -> bytes:
    # It prints its progress to the standard output, which is for the lines of the job.
    with tempfile.TemporaryDirectory() as directory, redirect_stdout(sys.stderr):
        source, prepared, target = (Path(directory, name) for name in ("source.onnx", "prepared.onnx", "int8.onnx"))
        onnx.save(folded, str(source))
        # Folds batch normalisation and constants; symbolic shapes are not needed, and SymPy is slow.
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        if method == "dynamic":
            quantize_dynamic(
                str(prepared), str(target), weight_type=QuantType.QInt8, per_channel=False, reduce_range=SEVEN_BITS
            )
        else:
            convolutions = method == "static_convolutions"
            quantize_static(
                str(prepared),
                str(target),
                _Calibration(calibration),
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=sorted(CONVOLUTIONS) if convolutions else None,
                per_channel=convolutions,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
                reduce_range=SEVEN_BITS,
                calibrate_method=(
                    CalibrationMethod.Percentile if method == "static_percentile" else CalibrationMethod.MinMax
                ),
            )
        return target.read_bytes()


class _Calibration(CalibrationDataReader):  # type: ignore[misc]  # the library has no types
    """One sample at a time: a batch's histograms would take its memory at once."""

    def __init__(self, dataset: Dataset) -> None:
        self._samples = self._each(dataset)

    @staticmethod
    def _each(dataset: Dataset) -> Iterator[Mapping[str, Array]]:
        for row in range(len(dataset.labels)):
            yield dataset.take(slice(row, row + 1)).inputs

    def get_next(self) -> Mapping[str, Array] | None:
        return next(self._samples, None)


def _measure(run: Run, held_out: Dataset, model: ModelSpec, size_bytes: int, clock: Clock) -> FormFigures:
    found = _scored(run, held_out, model)
    one = held_out.take(slice(0, 1)).inputs
    for _ in range(WARM_UP):
        run(one)
    durations = []
    for _ in range(RUNS):
        began = clock()
        run(one)
        durations.append(1e6 * (clock() - began))
    p50, p90, p99 = (round(float(np.quantile(durations, share)), 1) for share in (0.5, 0.9, 0.99))
    return FormFigures(size_bytes, found.accuracy, found.loss, p50, p90, p99)


def _scored(run: Run, held_out: Dataset, model: ModelSpec) -> Evaluation:
    """By the task's own loss: a folded form has no loss of the model's own."""
    batches = [held_out.take(slice(start, start + BATCH)) for start in range(0, len(held_out.labels), BATCH)]
    output = np.concatenate([run(batch.inputs) for batch in batches])
    if not np.isfinite(output).all():
        raise ValueError("it gives numbers that are not finite")
    return score(output, held_out.labels, task=model.task, padding=model.padding)


def _with_weights(predict: bytes, weights: Mapping[str, Array], model: ModelSpec) -> Run:
    """The graph as devices run it: the version's tensors are bound once."""
    session = open_session(predict)
    taken = {value.name for value in session.get_inputs()}
    bound = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray(array, order="C"))
        for name, array in weights.items()
        if name in taken
    }

    def run(inputs: Mapping[str, Array]) -> Float32:
        given = {**inputs, **({TARGET: _no_target(inputs, model)} if model.own_loss else {})}
        values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray(a, order="C")) for name, a in given.items()}
        output: Float32 = session.run_with_ort_values([model.output.name], {**values, **bound})[0].numpy()
        return output

    return run


def _alone(graph: bytes, model: ModelSpec) -> Run:
    session = open_session(graph)

    def run(inputs: Mapping[str, Array]) -> Float32:
        values = {n: onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray(a, order="C")) for n, a in inputs.items()}
        output: Float32 = session.run_with_ort_values([model.output.name], values)[0].numpy()
        return output

    return run


def _no_target(inputs: Mapping[str, Array], model: ModelSpec) -> NDArray[np.generic]:
    count = len(next(iter(inputs.values())))
    return np.zeros((count, *model.target.shape), model.target.dtype)


def _called(tensors: Mapping[str, Array], model: ModelSpec) -> Mapping[str, Array]:
    """A version's tensors by the names of the graph's inputs."""
    return {role: np.asarray(tensors[name], np.float32) for name, role in version_names(model).items()}


def _points(float32: FormFigures, measured: FormFigures) -> float:
    """The loss: points of accuracy, or percent of the loss where there is no accuracy. Below 0 it gains."""
    if float32.accuracy is not None and measured.accuracy is not None:
        return round(100 * (float32.accuracy - measured.accuracy), 3)
    return round(100 * (measured.loss - float32.loss) / max(float32.loss, 1e-12), 3)


def why_not_offered(float32: FormFigures, measured: FormFigures, points: float, *, most: float) -> Reason | None:
    """Why a form that runs and loses so many `points`, of `most` allowed, is no gain; None: it is."""
    if points > most:
        return Reason("quantise.loses_too_much", f"it loses {points:.2f} points on held-out samples; {most:g} at most")
    share, speed = measured.size_bytes / float32.size_bytes, float32.p50_us / measured.p50_us
    if share > SMALLER and speed < QUICKER:
        sizes = f"{measured.size_bytes:,} bytes against {float32.size_bytes:,}"
        return Reason(
            "quantise.does_not_pay", f"it does not pay: {sizes}, {measured.p50_us:g} µs against {float32.p50_us:g} µs"
        )
    return None


def _why(tried: Sequence[TriedForm]) -> Reason:
    """Of several reasons, the one of the form that came furthest."""
    order = ("quantise.does_not_pay", "quantise.loses_too_much", "quantise.does_not_run")
    reasons = sorted((one.refused for one in tried if one.refused is not None), key=lambda one: order.index(one.code))
    if not reasons:
        return Reason("quantise.nothing_to_do", "the model has no convolution, product or recurrent layer to quantise")
    return reasons[0]


def _best(forms: Sequence[Form]) -> Form | None:
    """The smallest of those about as fast as the fastest: speeds are of this machine, sizes of all."""
    quickest = min(map(_speed, forms), default=0.0)
    return min(
        (form for form in forms if _speed(form) <= ABOUT_AS_QUICK * quickest),
        key=lambda form: len(form.graph),
        default=None,
    )


def _speed(form: Form) -> float:
    assert form.tried.measured is not None, "what could be offered was measured"
    return form.tried.measured.p50_us
