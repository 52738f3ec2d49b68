"""What is told of a model that cannot be compiled: the operator, the module, and what to write instead."""

import logging
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from coterie.compile.advice import ADVICE, advise
from coterie.compile.compiled import compile_model
from coterie.compile.errors import (
    BatchBecameConstant,
    DataDependent,
    ExportFailed,
    NoGradient,
    PackedSequences,
    UnsupportedOperator,
    UnsupportedSignature,
)
from coterie.compile.lower import LOWERINGS
from coterie.compile.only_the_error import LOGGERS
from coterie.compile.program import export_module
from coterie.compile.source_locations import line_of
from coterie.core.errors import CoterieError
from tests.zoo.reference import uploaded


class Odd(nn.Module):
    """Does `take` before a layer."""

    def __init__(self, take: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.take = take
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.take(x))
        return logits


def compiling(take: Callable[[Tensor], Tensor]) -> Callable[[], object]:
    """A model that does `take` in its module ``encoder.layers.0``, after something to learn."""
    model = nn.Sequential()
    model.add_module("stem", nn.Linear(4, 4))
    model.add_module("encoder", nn.Module())
    encoder = nn.Sequential()
    encoder.add_module("layers", nn.Sequential(Odd(take)))
    model.encoder = encoder
    return lambda: compile_model(export_module(model, (torch.ones(3, 4),)), batch_size=2)


@pytest.mark.parametrize(
    ("take", "operator", "advice"),
    [
        (lambda x: x * x.nonzero().sum(), "nonzero", "torch.where"),
        (lambda x: x * x[x > 0].sum(), "index", "depends on the data"),
        (lambda x: x * torch.unique(x).sum(), "unique", "mask"),
        (lambda x: x * x.max().item(), "item", "keep it a tensor"),
        (lambda x: x @ torch.linalg.inv(torch.eye(4)), "linalg_inv", "buffer"),
        (lambda x: torch.fft.rfft(x).abs() @ torch.ones(3, 4), "fft", "cosines"),
        (lambda x: x * torch.lgamma(x), "lgamma", "polynomial"),
        (lambda x: x * torch.bucketize(x, torch.arange(3.0)), "bucketize", "boundaries"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_operator_is_named_with_its_module_and_advice(
    take: Callable[[Tensor], Tensor], operator: str, advice: str
) -> None:
    with pytest.raises(UnsupportedOperator, match=advice) as caught:
        compiling(take)()
    assert operator in str(caught.value.fields["operator"])
    assert caught.value.fields["module"] == "encoder.layers.0"


def branching(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x
    return -x


def test_branch_on_data_is_named_with_its_line() -> None:
    with pytest.raises(DataDependent, match=r"torch\.where") as caught:
        compiling(branching)()
    assert caught.value.fields["module"] == "encoder.layers.0"
    assert "test_errors.py" in str(caught.value.fields["line"])
    assert "if x.sum() > 0:" in str(caught.value.fields["line"])


def chosen(x: Tensor) -> Tensor:
    y = torch.zeros_like(x)
    present = x.sum(dim=1) > 0
    y[present] = x[present] * 2
    return y


def test_what_is_chosen_by_a_mask_is_told_with_its_line() -> None:
    with pytest.raises(UnsupportedOperator, match=r"test_errors\.py.*weigh them by a mask") as caught:
        compiling(chosen)()
    assert caught.value.fields["module"] == "encoder.layers.0"


def in_half(x: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ torch.ones(4, 4)
    return y.float()


def counted(x: Tensor) -> Tensor:
    return x * torch.ones(len(x), 1)


def asked(x: Tensor) -> Tensor:
    return x if x.shape[0] > 3 else -x


def reshaped(x: Tensor) -> Tensor:
    return x.view(3, 4)


LINES: dict[Callable[[Tensor], Tensor], str] = {
    counted: "return x * torch.ones(len(x), 1)",
    asked: "return x if x.shape[0] > 3",
    reshaped: "return x.view(3, 4)",
}


@pytest.mark.parametrize("take", LINES)
def test_batch_that_became_constant_is_told_with_its_line(take: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(BatchBecameConstant, match=r"x\.shape\[0\]") as caught:
        compiling(take)()
    assert LINES[take] in str(caught.value.fields["line"])
    assert "L['" not in str(caught.value)


def test_shapes_that_do_not_fit_are_told_with_module_and_line() -> None:
    with pytest.raises(ExportFailed, match=r"reduction dim.*\[batch, 4\]") as caught:
        compiling(lambda x: x @ torch.ones(5, 4))()
    assert caught.value.fields["module"] == "encoder.layers.0"
    assert "torch.ones(5, 4)" in str(caught.value.fields["line"])


def as_numbers(x: Tensor) -> Tensor:
    return x * torch.from_numpy(x.detach().numpy())


def in_place(x: Tensor) -> Tensor:
    y = torch.sigmoid(x)
    y += 1
    return y


@pytest.mark.parametrize(
    ("take", "error", "words"),
    [
        (as_numbers, ExportFailed, r"'encoder\.layers\.0', at 'test_errors.*compute with torch"),
        (lambda x: x.cuda(), ExportFailed, r"model\.cpu\(\)"),
        (in_place, NoGradient, r"'encoder\.layers\.0', at 'test_errors.*y = y \+ 1 in place of y \+= 1"),
        (torch.vmap(lambda row: row * 2), UnsupportedOperator, "broadcasting or torch.einsum"),
        (
            in_half,
            UnsupportedOperator,
            r"'encoder\.layers\.0', at 'test_errors.*self\.take\(x\).*leave torch\.autocast out",
        ),
        (lambda x: x * torch.rand_like(x), UnsupportedOperator, r"bernoulli_\(share\)"),
        (lambda x: torch.where(torch.bernoulli(0.5 * x.exp()) > 0, x, -x), UnsupportedOperator, r"bernoulli_\(share\)"),
    ],
    ids=["numpy", "a device", "in place", "vmap", "half", "noise", "a draw that chooses"],
)
def test_what_pytorch_says_is_told_as_what_to_write(
    take: Callable[[Tensor], Tensor], error: type[CoterieError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        compiling(take)()
    assert not any(text in str(caught.value) for text in ("INTERNAL ASSERT", "anomaly", "subclass", "L['"))


class Many(nn.Module):
    """Takes any number of inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, *parts: Tensor) -> Tensor:
        logits: Tensor = self.head(torch.stack(parts).sum(dim=0))
        return logits


def test_a_model_may_take_any_number_of_inputs() -> None:
    program = export_module(Many(), (torch.zeros(2, 4), torch.zeros(2, 4)))
    assert len(compile_model(program, batch_size=2).spec.inputs) == 2


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ([torch.zeros(2, 4)] * 2, r"forward takes \(x.*and not 2 tensors"),
        ([], r"forward takes \(x.*and not 0 tensors"),
        ([torch.tensor(1.0)], "no tensor with a batch axis"),
    ],
)
def test_examples_that_are_not_what_forward_takes_are_refused(example: list[Tensor], words: str) -> None:
    with pytest.raises(ExportFailed, match=words):
        export_module(Odd(torch.relu), example)


def test_a_class_in_the_place_of_a_module_is_told() -> None:
    with pytest.raises(ExportFailed, match=r"the class Odd: give a module, Odd\(\)"):
        export_module(Odd, [torch.zeros(2, 4)])  # type: ignore[arg-type]


def unfit(x: Tensor) -> Tensor:
    return x @ torch.ones(9, 4)


@pytest.mark.parametrize("take", [branching, unfit], ids=["branch", "shapes"])
def test_of_a_failed_export_the_error_alone_is_told(
    take: Callable[[Tensor], Tensor], capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    heard = logging.Handler()
    heard.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    for name in LOGGERS:
        logging.getLogger(name).addHandler(heard)
    try:
        with pytest.raises(CoterieError):
            compiling(take)()
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(heard)
    assert (told, capfd.readouterr()) == ([], ("", ""))


def test_examples_of_different_batches_are_refused() -> None:
    with pytest.raises(ExportFailed, match="2, 3 samples"):
        export_module(Many(), (torch.zeros(2, 4), torch.zeros(3, 4)))


def test_lines_are_the_users_and_not_pytorchs() -> None:
    stack = (
        'File "/home/me/model.py", line 7, in forward\n    y = self.norm(x)\n'
        'File "/x/site-packages/torch/nn/a.py", line 9, in f\n    z'
    )
    assert line_of(stack) == "model.py:7: y = self.norm(x)"
    assert line_of("nothing of the kind") == ""


def test_dtype_that_does_not_fit_is_told() -> None:
    with pytest.raises(UnsupportedOperator, match=r"torch\.float16; compute in float32") as caught:
        compiling(lambda x: x.half().float())()
    assert caught.value.fields["module"] == "encoder.layers.0"


def test_missing_gradient_is_told() -> None:
    with pytest.raises(NoGradient, match=r"floor_divide.*detach") as caught:
        compiling(lambda x: x * torch.floor_divide(x, 0.3))()
    assert caught.value.fields["module"] == "encoder.layers.0"
    assert "self.head(self.take(x))" in str(caught.value.fields["line"])


def switched_off(x: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled=False):
        y = x @ torch.ones(4, 4)
    with torch.autocast("cuda", torch.float16):
        return y * 2


@pytest.mark.filterwarnings("ignore:CUDA is not available")  # which is why PyTorch itself leaves that block out
def test_autocast_that_changes_nothing_here_is_left_out() -> None:
    module = nn.Sequential(nn.Linear(4, 4), Odd(switched_off))
    x = torch.randn(3, 4)
    program = uploaded(export_module(module, (x,)))
    torch.testing.assert_close(program.module()(x), module(x))
    assert compile_model(program, batch_size=2).spec.output.shape == (3,)


class Reduced(nn.Module):
    """A model that gives its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x).logsumexp(dim=1)


def test_an_output_that_is_a_loss_is_told_with_its_line() -> None:
    with pytest.raises(UnsupportedSignature, match=r"logsumexp\(dim=1\)', is float32 \[dynamic\].*unsqueeze"):
        compile_model(export_module(Reduced(), (torch.ones(3, 4),)), batch_size=2)


def test_write_into_a_part_is_refused_with_advice() -> None:
    def write(x: Tensor) -> Tensor:
        y = x.clone()
        y[:, 1] *= 2
        return y

    with pytest.raises(UnsupportedOperator, match=r"torch\.where or torch\.slice_scatter"):
        compiling(write)()


def test_advice_is_for_what_is_not_lowered() -> None:
    lowered = {name.partition(".")[0] for name in LOWERINGS}
    # A step draws, but what is drawn in service is not known.
    assert ADVICE.keys().isdisjoint(lowered - {"as_strided", "rand", "rand_like"})
    assert advise("aten.nonzero.default") == advise("torch.ops.aten.nonzero.default") == ADVICE["nonzero"]
    assert advise("aten.relu_.default") is None


class Stepping(nn.Module):
    """Reads packed sequences step by step, as their data are laid out."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return torch.stack([part.sum() for part in packed.data.split(packed.batch_sizes.tolist())])


def test_what_is_read_of_packed_sequences_themselves_is_refused_with_what_to_write() -> None:
    with pytest.raises(PackedSequences, match=r"the model itself, at 'test_errors\.py.*tolist.*lengths - 1\]"):
        export_module(Stepping(), (torch.zeros(2, 5, 4), torch.tensor([5, 3])))
