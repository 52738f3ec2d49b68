"""Every kind of slot `fallback`: bounds that let something through, and nothing where a plan hides what is there."""

import pytest

from coterie_learning.fallback import Fallback
from coterie_learning.fallback.cloud_model import CloudModel
from coterie_learning.plan import FALLBACK, parse_plan
from coterie_wire.errors import WireError
from coterie_wire.fallback import MAX_SAMPLES

every_kind = pytest.mark.parametrize("kind", FALLBACK.kinds.values(), ids=list(FALLBACK.kinds))
MASKED = {
    "codec": {"kind": "float32"},
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "pace": {"kind": "sync", "min_updates": 10, "target_updates": 10},
}


@every_kind
def test_what_the_platform_answers_is_bounded(kind: type[Fallback]) -> None:
    bounds = kind().platform_bounds()
    assert bounds is None or (0 < bounds.samples <= MAX_SAMPLES and bounds.per_device > 0 and bounds.per_minute > 0)


def test_a_plan_that_says_nothing_leaves_samples_where_they_are() -> None:
    assert parse_plan({}).fallback.platform_bounds() is None


@pytest.mark.parametrize("privacy", ["secure_aggregation", "distributed_noise", "local_noise"])
def test_privacy_that_hides_devices_from_the_platform_refuses_it(privacy: str) -> None:
    plan = {**MASKED, "privacy": {"kind": privacy}}
    parse_plan(plan)
    with pytest.raises(WireError, match=f"privacy {privacy} hides from the platform"):
        parse_plan({**plan, "fallback": {"kind": "cloud_model"}})


@pytest.mark.parametrize("privacy", ["none", "clip", "central_noise"])
def test_privacy_that_trusts_the_platform_allows_it(privacy: str) -> None:
    plan = {**MASKED, "privacy": {"kind": privacy}, "fallback": {"kind": "cloud_model", "samples": 4}}
    assert parse_plan(plan).fallback == CloudModel(samples=4)
