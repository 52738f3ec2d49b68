"""Losses of one's own follow PyTorch, with weights, a teacher and a proximal term as any; others are refused."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, distributions, nn
from torch.nn import functional

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.ctc import ctc_loss
from coterie.compile.errors import (
    BatchBecameConstant,
    DataDependent,
    ExportFailed,
    LossMismatch,
    NoGradient,
    UnsafeUpload,
    UnsupportedLoss,
    UnsupportedOperator,
)
from coterie.compile.loss_program import LossProgram, criterion
from coterie.compile.losses import loss_and_gradient
from coterie.compile.program import export_loss, export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.custom import Custom
from coterie.compile.trial import try_training
from coterie.compile.upload import load_criterion
from coterie.core.errors import CoterieError
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import evaluate, open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_agent.ingest.row import RowCheck
from coterie_agent.store.database import Database
from coterie_agent.store.samples import SampleStore, StoredRow
from coterie_agent.training.predictor import Predictor
from coterie_learning.local import StepScalars
from tests.coterie_agent.stepping import Stepping
from tests.zoo.reference import uploaded

BATCH, FEATURES, CLASSES = 6, 5, 4
SHARE, PULL, CLIP = 0.3, 0.1, 0.5
WEIGHTS = StepScalars(0.05, 0.8, clip_norm=CLIP, proximal_weight=PULL, distillation_weight=SHARE)


def focal(output: Tensor, target: Tensor) -> Tensor:
    """Lin et al. 2017, arXiv 1708.02002, equation 4."""
    surprise = functional.cross_entropy(output, target, reduction="none")
    return (1 - torch.exp(-surprise)) ** 2 * surprise


def huber(output: Tensor, target: Tensor) -> Tensor:
    return functional.huber_loss(output, target, reduction="none", delta=0.5).mean(dim=1)


def contrastive(output: Tensor, target: Tensor) -> Tensor:
    """Hadsell, Chopra and LeCun 2006, equation 4: of two embeddings, which belong together where the target is 1."""
    apart = (output[:, 0] - output[:, 1]).square().sum(dim=1)
    short = torch.clamp(1 - torch.sqrt(apart + 1e-6), min=0)
    return torch.where(target == 1, apart, short.square())


def weighted_labels(output: Tensor, target: Tensor) -> Tensor:
    found = functional.binary_cross_entropy_with_logits(output, target, reduction="none", pos_weight=torch.tensor(3.0))
    return found.mean(dim=1)


def gaussian(output: Tensor, target: Tensor) -> Tensor:
    """A mean and a variance for each number (Nix and Weigend 1994), some of the variances below their bound."""
    mean, spread = output.chunk(2, dim=1)
    variance = functional.softplus(spread)
    return functional.gaussian_nll_loss(mean, target, variance, eps=0.5, reduction="none", full=True).mean(dim=1)


def margin(output: Tensor, target: Tensor) -> Tensor:
    return functional.multi_margin_loss(output, target, reduction="none")


def mixture(output: Tensor, target: Tensor) -> Tensor:
    """Bishop 1994, equation 23, as `torch.distributions` has it, of Gaussians."""
    means, spreads = output.chunk(2, dim=1)
    parts = distributions.Normal(means, functional.softplus(spreads) + 0.1)
    of_parts = distributions.Categorical(probs=torch.ones(CLASSES))
    return -distributions.MixtureSameFamily(of_parts, parts).log_prob(target[:, 0])


FRAMES, LABELS, SPOKEN = 9, 5, 3


def speech(output: Tensor, target: Tensor) -> Tensor:
    """Graves et al. 2006, of frames in the last axis; 0 is both what fills targets up and the blank."""
    frames = output.permute(2, 0, 1).log_softmax(dim=2)
    lengths = torch.full((output.shape[0],), FRAMES)
    return functional.ctc_loss(frames, target, lengths, (target > 0).sum(dim=1), reduction="none")


def utterances(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of one to three labels, some twice in a row."""
    labels = np.repeat(rng.integers(1, LABELS, (count, 1)), SPOKEN, axis=1) + rng.integers(0, 2, (count, SPOKEN))
    ends = rng.integers(1, SPOKEN + 1, (count, 1))
    return np.where(np.arange(SPOKEN) < ends, np.minimum(labels, LABELS - 1), 0)


@dataclass(frozen=True)
class Case:
    """A loss with the task of its model, and targets and a teacher's output for `n` samples."""

    kind: Custom
    function: Callable[[Tensor, Tensor], Tensor]
    shape: tuple[int, ...]
    targets: Callable[[np.random.Generator, int], np.ndarray]
    teacher: Callable[[np.random.Generator, int], np.ndarray]
    taught: Callable[[Tensor, Tensor], Tensor]
    """The plain loss of the task, by which the teacher teaches."""


CASES = {
    "focal": Case(
        Custom("classes"),
        focal,
        (CLASSES,),
        lambda rng, n: rng.integers(0, CLASSES, n),
        lambda rng, n: rng.dirichlet(np.ones(CLASSES), n),
        functional.cross_entropy,
    ),
    "huber": Case(
        Custom(),
        huber,
        (CLASSES,),
        lambda rng, n: rng.normal(size=(n, CLASSES)).astype(np.float32),
        lambda rng, n: rng.normal(size=(n, CLASSES)),
        functional.mse_loss,
    ),
    "contrastive": Case(
        Custom(),
        contrastive,
        (2, CLASSES),
        lambda rng, n: rng.integers(0, 2, n),
        lambda rng, n: rng.normal(size=(n, 2, CLASSES)),
        functional.mse_loss,
    ),
    "gaussian": Case(
        Custom(),
        gaussian,
        (2 * CLASSES,),
        lambda rng, n: rng.normal(size=(n, CLASSES)).astype(np.float32),
        lambda rng, n: rng.normal(size=(n, 2 * CLASSES)),
        functional.mse_loss,
    ),
    "mixture": Case(
        Custom(),
        mixture,
        (2 * CLASSES,),
        lambda rng, n: rng.normal(size=(n, 1)).astype(np.float32),
        lambda rng, n: rng.random((n, 2 * CLASSES)),
        functional.mse_loss,
    ),
    "margin": Case(
        Custom("classes"),
        margin,
        (CLASSES,),
        lambda rng, n: rng.integers(0, CLASSES, n),
        lambda rng, n: rng.dirichlet(np.ones(CLASSES), n),
        functional.cross_entropy,
    ),
    "speech": Case(
        Custom(),
        speech,
        (LABELS, FRAMES),
        utterances,
        lambda rng, n: rng.normal(size=(n, LABELS, FRAMES)),
        functional.mse_loss,
    ),
    "weighted labels": Case(
        Custom("labels"),
        weighted_labels,
        (CLASSES,),
        lambda rng, n: rng.integers(0, 2, (n, CLASSES)).astype(np.float32),
        lambda rng, n: rng.random((n, CLASSES)),
        functional.binary_cross_entropy_with_logits,
    ),
}


def body(shape: tuple[int, ...]) -> nn.Module:
    torch.manual_seed(0)
    width = int(np.prod(shape))
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, width), nn.Unflatten(1, shape))


@functools.cache
def compiled(name: str) -> tuple[nn.Module, CompiledModel]:
    case = CASES[name]
    module, rng = body(case.shape), np.random.default_rng(0)
    program = export_loss(case.function, torch.zeros(2, *case.shape), torch.from_numpy(case.targets(rng, 2)))
    exported = export_module(module, (torch.zeros(2, FEATURES),))
    recipe = Recipe(loss=case.kind, clipping=True)
    return module, compile_model(exported, recipe, batch_size=BATCH, loss_program=uploaded(program))


def batch_of(case: Case, model: CompiledModel, seed: int) -> Batch:
    rng, count = np.random.default_rng(seed), BATCH - seed % 3
    x = rng.normal(size=(count, FEATURES)).astype(np.float32)
    targets, teacher = case.targets(rng, count), case.teacher(rng, count).astype(np.float32)
    return Batch(Dataset({model.spec.inputs[0].name: x}, targets), teacher)


@pytest.fixture(scope="module", params=CASES)
def pair(request: pytest.FixtureRequest) -> tuple[Case, nn.Module, CompiledModel]:
    case = CASES[request.param]
    return case, *compiled(request.param)


def test_steps_equal_pytorch(pair: tuple[Case, nn.Module, CompiledModel]) -> None:
    case, module, model = pair
    steps, anchors = DeviceSteps(model.train_step, model.spec), [p.detach().clone() for p in module.parameters()]
    reference = torch.optim.SGD(module.parameters(), lr=WEIGHTS.learning_rate, momentum=WEIGHTS.momentum)
    training = steps.begin(model.parameters)
    for number in range(50):
        batch = batch_of(case, model, number)
        training, loss, _ = steps.step(training, batch, WEIGHTS, model.parameters)
        (x,), target = (torch.from_numpy(array) for array in batch.dataset.inputs.values()), batch.dataset.labels
        output, teacher = module(x), torch.from_numpy(batch.teacher)
        expected = (1 - SHARE) * case.function(output, torch.from_numpy(target)).mean()
        expected = expected + SHARE * case.taught(output, teacher)
        pull = sum(((tensor - anchor) ** 2).sum() for tensor, anchor in zip(module.parameters(), anchors, strict=True))
        reference.zero_grad()
        (expected + PULL / 2 * pull).backward()
        nn.utils.clip_grad_norm_(list(module.parameters()), CLIP)
        reference.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)
    for name, tensor in module.named_parameters():
        theirs = tensor.detach().numpy()
        assert np.linalg.norm(training.parameters[name] - theirs) < 1e-4 * np.linalg.norm(theirs)


def test_a_model_is_judged_by_its_own_loss(pair: tuple[Case, nn.Module, CompiledModel]) -> None:
    case, _, model = pair
    (x,), target = batch_of(case, model, 0).dataset.inputs.values(), batch_of(case, model, 0).dataset.labels
    found = evaluate(model.predict, model.parameters, Dataset({model.spec.inputs[0].name: x}, target), model.spec)
    module = body(case.shape)
    with torch.no_grad():
        output = module(torch.from_numpy(x))
        assert found.loss == pytest.approx(case.function(output, torch.from_numpy(target)).mean().item(), rel=1e-5)
    match case.kind.task:
        case "classes":
            assert found.accuracy == pytest.approx((output.argmax(dim=1).numpy() == target).mean())
        case "labels":
            assert found.accuracy == pytest.approx(((output.numpy() > 0) == (target > 0.5)).mean())
        case _:
            assert found.accuracy is None


def test_the_agent_trains_and_measures_by_it(tmp_path: Path) -> None:
    _, model = compiled("contrastive")
    rng, check, samples = (
        np.random.default_rng(0),
        RowCheck.of_model(model.spec),
        SampleStore(Database(tmp_path / "store")),
    )
    rows = [check.row("here", rng.normal(size=FEATURES).tolist(), [float(number % 2)]) for number in range(BATCH)]
    samples.add(rows, max_samples=100)
    ids = samples.ids(samples.snapshot())
    weights = StepScalars(0.05, 0.5)
    trainer = Stepping(
        model.train_step, model.spec, model.parameters, {}, samples=samples, train=ids, scalars=weights, seed=1
    )
    predictor = Predictor(model.predict, model.spec, model.parameters, {}, threads=1)
    before = predictor.measure(samples, loss_of=ids, accuracy_of=ids, stop=lambda: False)
    for _ in range(20):
        trainer.step()
    predictor.set_parameters(trainer.parameters())
    after = predictor.measure(samples, loss_of=ids, accuracy_of=ids, stop=lambda: False)
    assert before is not None and after is not None
    assert after.loss < 0.8 * before.loss
    assert after.accuracy is None
    # What is to be predicted has no target.
    assert predictor.outputs([StoredRow(0, rows[0].x, 0)]).shape == (1, 2, CLASSES)


def test_a_sample_that_is_padded_has_no_part_in_the_gradient() -> None:
    """The norm of nothing has no gradient, and what is padded is nothing."""
    program = export_loss(lambda o, t: torch.log(o.square().sum(dim=1)) + 0 * t, torch.ones(2, 3), torch.ones(2))
    output, target = torch.tensor([[1.0, 2, 3], [0, 0, 0]]), torch.zeros(2)
    found = loss_and_gradient(criterion(Custom(), program), output, target, torch.tensor([1.0, 0]), None)
    assert found.loss == torch.log(torch.tensor(14.0))
    torch.testing.assert_close(found.gradient, torch.tensor([[1 / 7, 2 / 7, 3 / 7], [0, 0, 0]]))


def means(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean(dim=1) - (output - target).square().mean()


def noisy(output: Tensor, target: Tensor) -> Tensor:
    return functional.dropout((output - target).square(), 0.5, training=True).mean(dim=1)


class Learning(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Linear(3, 1)

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        found: Tensor = self.scale((output - target).square()).squeeze(1)
        return found


def a_table(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square()


def a_number(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean()


def logarithm(output: Tensor, target: Tensor) -> Tensor:
    apart = (output - target).square()
    return torch.log(-apart.sum(dim=1))


def taken_out(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean(dim=1) * target.sum().item()


def in_double(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).double().mean(dim=1)


@pytest.mark.parametrize(
    ("function", "words", "line"),
    [
        (means, "depends on the others", "(output - target).square().mean()"),
        (noisy, "differ from call to call", "functional.dropout"),
        (Learning(), "takes a parameter, function.scale", "self.scale"),
        (a_table, r"float32 \[batch, 3\].*reduction='none'", "(output - target).square()"),
        (a_number, "reduction='none'", ".mean()"),
        (logarithm, "not finite", "torch.log("),
        (taken_out, r"nor \.item\(\)", "target.sum().item()"),
        (in_double, "compute in float32, and give it so", ".double()"),
    ],
    ids=["of the batch", "random", "with a parameter", "a table", "a number", "not finite", "an item", "in double"],
)
def test_what_is_no_loss_is_refused_with_its_line(
    function: Callable[[Tensor, Tensor], Tensor], words: str, line: str
) -> None:
    with pytest.raises(UnsupportedLoss, match=words) as caught:
        found = criterion(Custom(), export_loss(function, torch.zeros(2, 3), torch.ones(2, 3)))
        assert isinstance(found, LossProgram)
        found.check_samples()
    assert str(caught.value.fields["module"]).startswith("loss")
    assert line in str(caught.value.fields["line"])
    assert "s48" not in str(caught.value)


def in_half(output: Tensor, target: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        apart = (output - target) @ torch.ones(4, 4)
    return apart.float().mean(dim=1)


def branching(output: Tensor, target: Tensor) -> Tensor:
    if (output - target).sum() > 0:
        return output.sum(dim=1)
    return target.sum(dim=1)


def counted(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean(dim=1) * torch.ones(len(output))


def masked(output: Tensor, target: Tensor) -> Tensor:
    return (output - target)[target > 0].mean().expand(output.shape[0])


def in_place(output: Tensor, target: Tensor) -> Tensor:
    apart = torch.sigmoid(output - target)
    apart += 1
    return apart.mean(dim=1)


def of_numpy(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).mean(dim=1) * torch.from_numpy(output.detach().numpy()).mean(dim=1)


@pytest.mark.parametrize(
    ("function", "error", "words", "line"),
    [
        (in_half, UnsupportedOperator, "leave torch.autocast out", "@ torch.ones(4, 4)"),
        (branching, DataDependent, r"torch\.where", "if (output - target).sum() > 0:"),
        (counted, BatchBecameConstant, r"not from len\(x\)", "torch.ones(len(output))"),
        (masked, UnsupportedOperator, "weigh them by a mask", "[target > 0]"),
        (in_place, NoGradient, r"y = y \+ 1", "apart += 1"),
        (of_numpy, ExportFailed, "compute with torch", "torch.from_numpy"),
    ],
    ids=["autocast", "a branch", "a constant batch", "a mask", "in place", "numpy"],
)
def test_what_a_loss_cannot_do_is_told_with_its_line(
    function: Callable[[Tensor, Tensor], Tensor], error: type[CoterieError], words: str, line: str
) -> None:
    exported = export_module(nn.Linear(2, 4), (torch.zeros(2, 2),))
    with pytest.raises(error, match=words) as caught:
        program = export_loss(function, torch.zeros(2, 4), torch.ones(2, 4))
        compile_model(exported, Recipe(loss=Custom()), batch_size=2, loss_program=program)
    assert caught.value.fields["module"] == "loss"
    assert line in str(caught.value.fields["line"])


def speech_in_all(output: Tensor, target: Tensor) -> Tensor:
    frames = output.permute(2, 0, 1).log_softmax(dim=2)
    return functional.ctc_loss(frames, target, torch.full((output.shape[0],), FRAMES), (target > 0).sum(dim=1))


def speech_as_advised(output: Tensor, target: Tensor) -> Tensor:
    return speech(output, target) / (target > 0).sum(dim=1).clamp(min=1)


def test_the_mean_of_speech_is_refused_with_what_gives_it() -> None:
    example = torch.zeros(2, LABELS, FRAMES), torch.tensor([[1, 2, 0], [3, 0, 0]])
    with pytest.raises(UnsupportedLoss, match=r"/ target_lengths\.clamp\(min=1\)") as caught:
        criterion(Custom(), export_loss(speech_in_all, *example))
    assert "functional.ctc_loss(" in str(caught.value.fields["line"])
    output, target = torch.randn(2, LABELS, FRAMES), example[1]
    found = criterion(Custom(), export_loss(speech_as_advised, *example))
    assert isinstance(found, LossProgram)
    found.check_samples()
    torch.testing.assert_close(found.losses(output, target).mean(), speech_in_all(output, target))


def test_a_loss_may_take_outputs_that_are_never_negative() -> None:
    program = export_loss(lambda output, _: torch.log(output).sum(dim=1), torch.ones(2, 3), torch.ones(2, 3))
    found = criterion(Custom(), program)
    assert isinstance(found, LossProgram)
    found.check_samples()


def test_speech_that_no_frames_can_spell_has_an_infinite_loss_or_none() -> None:
    output, target = torch.randn(2, LABELS, 4), torch.tensor([[1, 1, 1], [2, 0, 0]])
    for zero_infinity in (False, True):

        def loss(frames: Tensor, target: Tensor, zero: bool = zero_infinity) -> Tensor:
            given, lengths = frames.permute(2, 0, 1).log_softmax(dim=2), torch.full((frames.shape[0],), 4)
            return functional.ctc_loss(
                given, target, lengths, (target > 0).sum(dim=1), reduction="none", zero_infinity=zero
            )

        found = criterion(Custom(), export_loss(loss, output, target))
        assert isinstance(found, LossProgram)
        torch.testing.assert_close(found.losses(output, target), loss(output, target))
        for reduction in ("mean", "sum"):
            whole = functional.ctc_loss(
                output[1:].permute(2, 0, 1).log_softmax(2), target[1:], [4], [1], reduction=reduction
            )
            ours = ctc_loss(
                output[1:].permute(2, 0, 1).log_softmax(2),
                target[1:],
                torch.tensor([4]),
                torch.tensor([1]),
                reduction={"mean": 1, "sum": 2}[reduction],
            )
            torch.testing.assert_close(ours, whole)


class Tower(nn.Module):
    """Two towers of embeddings, of questions and of answers."""

    def __init__(self) -> None:
        super().__init__()
        self.questions, self.answers = nn.Embedding(30, 8), nn.Embedding(40, 8)
        self.left, self.right = nn.Linear(8, 6), nn.Linear(8, 6)

    def forward(self, question: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
        one, other = self.left(self.questions(question).mean(1)), self.right(self.answers(answer).mean(1))
        return functional.normalize(one, dim=1), functional.normalize(other, dim=1)


def info_nce(outputs: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
    """van den Oord, Li and Vinyals 2018, arXiv 1807.03748, equation 4: the others of the batch are wrong answers."""
    alike = outputs[0] @ outputs[1].t() * 10
    return functional.cross_entropy(alike, torch.arange(alike.shape[0]), reduction="none") + 0 * target


@pytest.mark.long
def test_a_loss_of_whole_batches_follows_pytorch_on_full_ones_alone() -> None:
    torch.manual_seed(0)
    module, rng = Tower(), np.random.default_rng(0)
    example = (torch.randint(1, 30, (2, 5)), torch.randint(1, 40, (2, 7)))
    loss = uploaded(export_loss(info_nce, module(*example), torch.zeros(2)))
    exported = uploaded(export_module(module, example))
    with pytest.raises(UnsupportedLoss, match="whole_batches"):
        compile_model(exported, Recipe(loss=Custom()), batch_size=BATCH, loss_program=loss)
    recipe = Recipe(loss=Custom(whole_batches=True), distillation=False)
    model = compile_model(exported, recipe, batch_size=BATCH, loss_program=loss)
    try_training(exported, model)
    steps, reference = (
        DeviceSteps(model.train_step, model.spec),
        torch.optim.SGD(module.parameters(), 0.1, momentum=0.5),
    )
    training = steps.begin(model.parameters)
    for _ in range(20):
        question, answer = rng.integers(1, 30, (BATCH, 5)), rng.integers(1, 40, (BATCH, 7))
        batch = Dataset({"question": question, "answer": answer}, np.zeros(BATCH, np.float32))
        training, found, _ = steps.step(training, Batch(batch), StepScalars(0.1, 0.5))
        expected = info_nce(module(*map(torch.from_numpy, (question, answer))), torch.zeros(BATCH)).mean()
        reference.zero_grad()
        torch.autograd.backward(expected)
        reference.step()
        assert found == pytest.approx(expected.item(), rel=1e-4)
        # A batch that is not full is left out, with what the optimiser remembers.
        same, _, _ = steps.step(training, Batch(batch.take(slice(0, BATCH - 1))), StepScalars(0.1, 0.5))
        for before, after in ((training.parameters, same.parameters), (training.optimiser_state, same.optimiser_state)):
            assert all(np.array_equal(before[name], after[name]) for name in before)
    for name, tensor in module.named_parameters():
        np.testing.assert_allclose(training.parameters[name], tensor.detach().numpy(), rtol=1e-4, atol=1e-6)


class Detector(nn.Module):
    """Tells what there is, and where: a vector and a table."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.kind, self.place = nn.Linear(FEATURES, 8), nn.Linear(8, CLASSES), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        found = torch.tanh(self.body(x))
        return self.kind(found), self.place(found).reshape(-1, 2, 2)


def detection(outputs: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
    """The kind is the first number of a target, and the corners are the others."""
    kinds, corners = outputs
    off = functional.smooth_l1_loss(corners, target[:, 1:].reshape(-1, 2, 2), reduction="none")
    return functional.cross_entropy(kinds, target[:, 0].long(), reduction="none") + off.mean(dim=(1, 2))


@pytest.mark.long
def test_several_outputs_with_a_loss_that_takes_them_all_follow_pytorch() -> None:
    torch.manual_seed(0)
    module, rng = Detector(), np.random.default_rng(0)
    x, target = torch.randn(2, FEATURES), torch.zeros(2, 5)
    loss, exported = uploaded(export_loss(detection, module(x), target)), uploaded(export_module(module, (x,)))
    model = compile_model(exported, Recipe(loss=Custom()), batch_size=BATCH, loss_program=loss)
    assert (model.spec.output.shape, model.spec.target.shape) == ((CLASSES + 4,), (5,))
    try_training(exported, model)
    steps, reference = (
        DeviceSteps(model.train_step, model.spec),
        torch.optim.SGD(module.parameters(), 0.1, momentum=0.5),
    )
    training = steps.begin(model.parameters)
    for number in range(20):
        count = BATCH - number % 3
        x = torch.from_numpy(rng.normal(size=(count, FEATURES)).astype(np.float32))
        kinds, corners = rng.integers(0, CLASSES, (count, 1)), rng.normal(size=(count, 4))
        target = torch.from_numpy(np.concatenate([kinds, corners], axis=1).astype(np.float32))
        samples = Dataset({"x": x.numpy()}, target.numpy())
        training, found, _ = steps.step(training, Batch(samples), StepScalars(0.1, 0.5))
        expected = detection(module(x), target).mean()
        reference.zero_grad()
        torch.autograd.backward(expected)
        reference.step()
        assert found == pytest.approx(expected.item(), rel=1e-4)
    for name, tensor in module.named_parameters():
        np.testing.assert_allclose(training.parameters[name], tensor.detach().numpy(), rtol=1e-4, atol=1e-6)
    with torch.no_grad():
        wanted = torch.cat([part.flatten(1) for part in module(x)], dim=1)
    np.testing.assert_allclose(
        predict_logits(open_session(model.predict), training.parameters, samples), wanted.numpy(), rtol=1e-4, atol=1e-5
    )


def test_several_outputs_need_a_loss_that_takes_them() -> None:
    module, x = Detector(), torch.randn(2, FEATURES)
    exported = export_module(module, (x,))
    with pytest.raises(LossMismatch, match=r"several outputs, \[batch, 4\] and \[batch, 2, 2\]"):
        compile_model(exported, Recipe(), batch_size=2)
    loss = export_loss(huber, torch.zeros(2, CLASSES), torch.zeros(2, CLASSES))
    with pytest.raises(LossMismatch, match=r"\[batch, 2, 2\]"):
        compile_model(exported, Recipe(loss=Custom()), batch_size=2, loss_program=loss)


def test_a_loss_and_its_recipe_belong_together() -> None:
    program = export_loss(huber, torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(UnsupportedLoss, match="there is none"):
        criterion(Custom(), None)
    with pytest.raises(UnsupportedLoss, match="cross_entropy"):
        criterion(CrossEntropy(), program)
    exported = export_module(nn.Linear(2, 4), (torch.zeros(2, 2),))
    with pytest.raises(LossMismatch, match=r"\[batch, 3\]"):
        compile_model(exported, Recipe(loss=Custom()), batch_size=2, loss_program=program)
    with pytest.raises(LossMismatch, match="int64"):
        compile_model(exported, Recipe(loss=Custom("classes")), batch_size=2, loss_program=program)


def test_an_operator_that_cannot_be_compiled_stands_in_the_loss() -> None:
    program = export_loss(lambda o, t: torch.fft.rfft(o - t).abs().mean(dim=1), torch.zeros(2, 4), torch.ones(2, 4))
    exported = export_module(nn.Linear(2, 4), (torch.zeros(2, 2),))
    with pytest.raises(UnsupportedOperator, match="cosines") as caught:
        compile_model(exported, Recipe(loss=Custom()), batch_size=2, loss_program=program)
    assert caught.value.fields["module"] == "loss"
    assert "torch.fft.rfft(o - t)" in str(caught.value.fields["line"])


def test_a_file_is_guarded_as_a_models_is(tmp_path: Path) -> None:
    torch.export.save(export_loss(huber, torch.zeros(2, 3), torch.zeros(2, 3)), tmp_path / "loss.pt2")
    assert isinstance(load_criterion(Custom(), str(tmp_path / "loss.pt2")), LossProgram)
    content = (tmp_path / "loss.pt2").read_bytes()
    (tmp_path / "loss.pt2").write_bytes(content.replace(b"models/model.json", b"models/model.code"))
    with pytest.raises(UnsafeUpload):
        load_criterion(Custom(), str(tmp_path / "loss.pt2"))
