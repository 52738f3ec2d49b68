"""A hundred drawn schedules; ``make test-schedules`` runs ten thousand others."""

from collections import Counter

from tests.coterie_learning.secure_sum.schedules import run

SCHEDULES = 100


def test_a_sum_is_right_or_ends_with_a_code() -> None:
    endings = [run(seed) for seed in range(SCHEDULES)]
    codes = Counter(ending.code for ending in endings)
    assert codes["right"] > SCHEDULES / 3
    assert codes["secure_sum.too_few_shares"] and codes["secure_sum.too_few_shared"]
    assert any(ending.lied for ending in endings)
    refused = sum((ending.refused for ending in endings), Counter[str]())
    wanted = {
        "wrong_list",
        "wrong_signature",
        "wrong_box",
        "wrong_survivors",
        "out_of_order",
        "too_few",
        "too_few_shared",
    }
    assert refused.keys() >= {f"secure_sum.{code}" for code in wanted}
