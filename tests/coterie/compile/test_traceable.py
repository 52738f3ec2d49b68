"""What PyTorch asks data about, or writes by ``out=``, is exported, and gives what PyTorch gives."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.compile.compiled import compile_model
from coterie.compile.errors import ExportFailed
from coterie.compile.program import export_loss, export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.custom import Custom
from coterie.compile.trial import try_training
from tests.coterie.compile import test_zoo
from tests.zoo.entry import Entry, Numbers, Sentences
from tests.zoo.reference import uploaded

WORDS, CLASSES = 20, 3


class Bags(nn.Module):
    def __init__(self, mode: str, padding: int | None) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(WORDS, 4, mode=mode, padding_idx=padding)
        self.head = nn.Linear(4, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        logits: Tensor = self.head(self.bag(words))
        return logits


@pytest.mark.parametrize(("mode", "padding"), [("mean", 0), ("mean", None), ("max", 0), ("sum", None)])
def test_bags_of_words_are_those_of_pytorch(mode: str, padding: int | None) -> None:
    module, words = Bags(mode, padding), torch.tensor([[3, 5, 0], [4, 0, 0], [0, 0, 0], [7, 7, 9]])
    program = export_module(module, (words,))
    torch.testing.assert_close(program.module()(words), module(words))


def test_bags_of_words_train_as_in_pytorch() -> None:
    test_zoo.follow(Entry(lambda: Bags("mean", 0), (Sentences((5,), WORDS),), CLASSES), steps=4)


class _Sign(torch.autograd.Function):
    """A straight-through estimator, whose gradient is not that of what it computes."""

    @staticmethod
    def forward(context: object, x: Tensor) -> Tensor:
        return torch.sign(x)

    @staticmethod
    def backward(context: object, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient


class Binary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(4, 4), nn.Linear(4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(_Sign.apply(self.first(x)))
        return logits


def test_gradients_of_ones_own_are_refused_which_pytorch_leaves_out() -> None:
    apply = torch.autograd.Function.__dict__["apply"]
    with pytest.raises(ExportFailed, match=r"test_traceable\.py:\d+.*_Sign.*\.detach\(\)"):
        export_module(Binary(), (torch.rand(2, 4),))
    assert torch.autograd.Function.__dict__["apply"] is apply


def test_statistics_of_all_batches_so_far_are_refused_with_what_to_give_instead() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None), nn.Linear(4, CLASSES))
    with pytest.raises(ExportFailed, match=r"module '1'.*give momentum a number"):
        export_module(module, (torch.rand(2, 4),))


class Masked(nn.Module):
    """A decoder that is given its mask, as the documentation of nn.Transformer has it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True), 1)
        self.head = nn.Linear(4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        logits: Tensor = self.head(self.layers(x, x, tgt_mask=mask)[:, -1])
        return logits


@pytest.mark.long
def test_a_decoder_with_a_mask_trains_as_in_pytorch() -> None:
    test_zoo.follow(Entry(Masked, (Numbers((5, 4)),), CLASSES), steps=4)


def alike(output: Tensor, target: Tensor) -> Tensor:
    """Khosla et al. 2020, arXiv 2004.11362, equation 2: samples of one class belong together."""
    z = functional.normalize(output, dim=1)
    itself = torch.eye(z.shape[0], dtype=torch.bool)
    near = (z @ z.t() / 0.2).masked_fill(itself, -1e9)
    others = (target[:, None] == target[None]) & ~itself
    return -(functional.log_softmax(near, dim=1) * others).sum(dim=1) / others.sum(dim=1).clamp(min=1)


def farther(output: Tensor, target: Tensor) -> Tensor:
    """Hermans et al. 2017, arXiv 1703.07737, equation 5: the farthest of its class is nearer than the nearest other."""
    apart, same = torch.cdist(output, output), target[:, None] == target[None]
    return functional.relu(torch.where(same, apart, 0.0).amax(1) - torch.where(same, 1e9, apart).amin(1) + 0.3)


@pytest.mark.parametrize("loss", [alike, farther])
def test_losses_of_classes_in_a_batch_train(loss: object) -> None:
    """The trial's targets are of more than one class."""
    torch.manual_seed(0)
    program = uploaded(export_module(nn.Linear(6, 4), (torch.zeros(2, 6),)))
    assert callable(loss)
    of_batch = uploaded(export_loss(loss, torch.zeros(2, 4), torch.zeros(2, dtype=torch.int64)))
    recipe = Recipe(loss=Custom(whole_batches=True), distillation=False)
    try_training(program, compile_model(program, recipe, batch_size=8, loss_program=of_batch))
