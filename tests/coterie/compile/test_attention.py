import pytest
import torch

from coterie.compile.attention import scaled_dot_product_attention


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}], ids=str)
def test_attention_equals_pytorch(options: dict[str, bool | float]) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 7)
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
    torch.testing.assert_close(scaled_dot_product_attention(query, key, value, **options), wanted)


PRESENT = torch.tensor([[True, True, True, True, False, False], [True, False, True, True, True, True]])
MASKS = {
    "of keys": PRESENT.reshape(2, 1, 1, 6),
    "of infinity": torch.zeros(2, 1, 1, 6).masked_fill(~PRESENT.reshape(2, 1, 1, 6), -torch.inf),
    "of each query": torch.rand(2, 3, 5, 6, generator=torch.Generator().manual_seed(1)) > 0.4,
    "of nobody's": torch.zeros(2, 1, 1, 6, dtype=torch.bool),
    "learned": torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(2)),
}


@pytest.mark.parametrize("name", MASKS)
def test_masked_attention_and_its_gradients_equal_pytorch(name: str) -> None:
    torch.manual_seed(0)
    mask = MASKS[name]
    given = [torch.randn(2, 3, *shape, requires_grad=True) for shape in ((5, 4), (6, 4), (6, 7))]
    learned = [*given, mask.requires_grad_()] if name == "learned" else given
    found, wanted = (
        attend(*given, mask)
        for attend in (scaled_dot_product_attention, torch.nn.functional.scaled_dot_product_attention)
    )
    torch.testing.assert_close(found, wanted)
    gradients = (torch.autograd.grad((output * output).sum(), learned) for output in (found, wanted))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_row_that_a_mask_hides_is_zero() -> None:
    query = torch.randn(1, 1, 2, 4)
    mask = torch.tensor([[True, True], [False, False]])
    assert not scaled_dot_product_attention(query, query, query, mask)[0, 0, 1].any()
