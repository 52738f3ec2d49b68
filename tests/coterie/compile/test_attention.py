import pytest
import torch

from coterie.compile.attention import scaled_dot_product_attention


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}], ids=str)
def test_attention_equals_pytorch(options: dict[str, bool | float]) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 7)
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
    torch.testing.assert_close(scaled_dot_product_attention(query, key, value, **options), wanted)


def test_row_that_a_mask_hides_is_zero() -> None:
    query = torch.randn(1, 1, 2, 4)
    mask = torch.tensor([[True, True], [False, False]])
    assert not scaled_dot_product_attention(query, query, query, mask)[0, 0, 1].any()
