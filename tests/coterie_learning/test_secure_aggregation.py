"""Privacy `secure_aggregation`: what a plan has it do, and what it refuses to be put together with."""

from collections.abc import Mapping

import msgspec
import numpy as np
import pytest

from coterie_learning.plan import parse_plan, read_plan
from coterie_learning.privacy.clip import Clip
from coterie_learning.privacy.secure_aggregation import SecureAggregation
from coterie_learning.secure_sum.terms import SumTerms
from coterie_wire.secure_sum import MOST_MEMBERS

FITS: Mapping[str, object] = {
    "privacy": {"kind": "secure_aggregation"},
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 20, "min_updates": 10},
}


def secure(**fields: object) -> dict[str, object]:
    return {"privacy": {"kind": "secure_aggregation", **fields}}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"merge": {"kind": "fed_avg"}, **secure(full_samples=100)},
        {"merge": {"kind": "fed_avg_m", "weight_by": "uniform"}},
        {"local": {"kind": "q_fed_avg"}, "merge": {"kind": "q_fed_avg"}},
        {"local": {"kind": "fed_nova"}, "merge": {"kind": "fed_nova"}, **secure(full_samples=100)},
        {**secure(min_devices=10, corrupted=0.3, dropped=0.1, adversary="split_view")},
        {**secure(bits=8)},
    ],
)
def test_what_it_works_with(change: Mapping[str, object]) -> None:
    plan = parse_plan({**FITS, **change})
    assert plan.privacy.misfit(plan, None, None) is None


@pytest.mark.parametrize(
    ("change", "code", "advice"),
    [
        ({"merge": {"kind": "median"}}, "plan.needs_sums", "fed_avg"),
        ({"merge": {"kind": "norm_bound"}}, "plan.needs_sums", "norms of single updates"),
        ({"merge": {"kind": "fed_avg"}}, "plan.needs_equal_weights", "full_samples"),
        (secure(full_samples=100), "plan.needs_equal_weights", "full_samples"),
        ({"codec": {"kind": "int8"}}, "plan.needs_float32", "choose bits here"),
        ({"codec": {"kind": "top_k"}}, "plan.needs_float32", "codec float32"),
        ({"pace": {"kind": "buffered"}}, "plan.needs_rounds_together", "pace sync"),
        ({"selection": {"kind": "oort"}}, "plan.not_covered", "selection uniform"),
        ({"rollout": {"kind": "canary"}}, "plan.not_covered", "rollout at_once"),
        ({"help": {"kind": "cartel"}}, "plan.not_covered", "help none"),
        ({"groups": {"kind": "affinity"}}, "plan.not_covered", "groups one"),
        ({"local": {"kind": "distill", "head": "seen"}}, "plan.not_covered", "whole output layer"),
        ({"pace": {"kind": "sync", "min_updates": 9}}, "plan.too_few_devices", "min_updates"),
        (
            {"pace": {"kind": "sync", "target_updates": MOST_MEMBERS + 1, "min_updates": 10}},
            "plan.too_many_devices",
            str(MOST_MEMBERS),
        ),
        (secure(corrupted=0.45, dropped=0.45), "plan.too_few_devices", "cannot be borne"),
        (
            {"pace": {"kind": "sync", "target_updates": 2_000, "min_updates": 10}, **secure(bits=8)},
            "plan.too_few_devices",
            "8 bits",
        ),
    ],
)
def test_what_it_refuses_with_advice(change: Mapping[str, object], code: str, advice: str) -> None:
    plan = read_plan({**FITS, **change})
    found = plan.privacy.misfit(plan, None, None)
    assert found is not None and found.code == code and advice in found.sentence


def test_its_device_clips_as_the_kind_that_does_no_more() -> None:
    update = {"weight": np.arange(100, dtype=np.float32)}
    one, other = (kind.protect(update, seed=1)["weight"] for kind in (SecureAggregation(norm=0.5), Clip(norm=0.5)))
    np.testing.assert_array_equal(one, other)
    assert not SecureAggregation.leaves_as_is


def test_what_devices_are_promised_follows_from_the_plan() -> None:
    kind = SecureAggregation(
        min_devices=40, corrupted=0.2, dropped=0.1, adversary="split_view", bits=12, full_samples=7
    )
    found = kind.masking()
    assert found is not None
    assert found.terms == SumTerms(40, 0.2, 0.1, "split_view")
    assert (found.bits, found.norm, found.full_samples, found.step_s) == (12, kind.norm, 7, kind.step_s)
    assert found.norm == kind.bound()


@pytest.mark.parametrize(
    "fields", [{"min_devices": 2}, {"bits": 9}, {"corrupted": 0.5}, {"norm": 0}, {"full_samples": 0}]
)
def test_fields_have_limits(fields: Mapping[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"kind": "secure_aggregation", **fields}, SecureAggregation)
