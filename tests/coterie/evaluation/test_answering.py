"""What models on the platform say of samples, by the graph that devices run."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.child.job import Progress
from coterie.evaluation.answer_job import AnswerArguments, AnswerNotFinite
from coterie.evaluation.answering import answer_samples
from coterie_learning.metrics import log_softmax
from coterie_wire.bundle import ModelSpec
from coterie_wire.predictions import Prediction
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import OF_SEQUENCES, SPEC, parameters, predict_graph

LABELS = ("red", "green", "blue")


def asked(folder: Path, *samples: object, spec: ModelSpec = SPEC, scale: float = 1.0) -> AnswerArguments:
    (folder / "graph").write_bytes(predict_graph(spec))
    tensors = {name: np.float32(scale) * tensor for name, tensor in parameters().items()}
    # As the training of a cloud model leaves it: a buffer that the graph does not take.
    (folder / "parameters").write_bytes(encode_tensors({**tensors, "batches": np.zeros((), np.int64)}))
    return AnswerArguments(
        model=spec,
        labels=LABELS,
        graph=str(folder / "graph"),
        parameters=str(folder / "parameters"),
        samples=tuple(np.asarray(sample, np.float32).tobytes() for sample in samples),
    )


def silent(_progress: Progress) -> None:
    pass


def test_each_sample_is_answered_as_the_parameters_say(tmp_path: Path) -> None:
    samples = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    found = answer_samples(asked(tmp_path, *samples), silent).predictions
    logits = samples @ parameters()["weight"].T + parameters()["bias"]
    expected = np.exp(log_softmax(logits))
    for prediction, row in zip(found, expected, strict=True):
        assert isinstance(prediction, Prediction)
        assert (prediction.index, prediction.label) == (row.argmax(), LABELS[row.argmax()])
        assert prediction.probability == pytest.approx(row.max(), abs=1e-5)


def test_samples_of_unlike_lengths_are_answered_each_at_its_own(tmp_path: Path) -> None:
    one = np.arange(4)
    arguments = asked(tmp_path, one, np.concatenate([one, np.zeros(8)]), spec=OF_SEQUENCES)
    first, longer = answer_samples(arguments, silent).predictions
    assert first == longer, "the model sums the rows of a sample"


def test_an_answer_that_is_not_finite_is_none(tmp_path: Path) -> None:
    with pytest.raises(AnswerNotFinite):
        answer_samples(asked(tmp_path, [1e30] * 4, scale=1e30), silent)


def test_a_graph_that_breaks_its_contract_is_found_out(tmp_path: Path) -> None:
    wrong = msgspec.structs.replace(SPEC, output=msgspec.structs.replace(SPEC.output, shape=(2,)))
    arguments = msgspec.structs.replace(asked(tmp_path, [0] * 4), model=wrong)
    with pytest.raises(ValueError, match="its contract"):
        answer_samples(arguments, silent)
