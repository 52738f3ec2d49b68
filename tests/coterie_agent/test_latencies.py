"""A device times train steps while it trains, and predictions once a model has run, and tells the platform."""

from collections.abc import Callable

import pytest

from coterie_agent.store.opened import Store
from coterie_wire.latency import MOST_REPORTED
from tests.coterie_agent.bundles import make_bundle
from tests.coterie_agent.conftest import Agent
from tests.coterie_agent.fake_platform import FakePlatform

OTHER = make_bundle(version="v2", number=2, seed=5)


@pytest.mark.usefixtures("stocked")
def test_steps_and_predictions_are_timed_in_the_conditions_there_are(
    platform: FakePlatform, new_agent: Callable[..., Agent], joined: Store
) -> None:
    platform.champion, platform.check_in_s, platform.evaluated = True, 0.1, OTHER
    new_agent().start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
    platform.assign("a1")
    platform.wait_for(lambda: platform.accepted and any(len(heard.latencies) == 2 for heard in platform.check_ins))
    told = next(heard.latencies for heard in platform.check_ins if len(heard.latencies) == 2)
    assert [(one.work, one.form, one.charging, one.hottest_c) for one in told] == [
        ("predict", "float32", "yes", 30.0),
        ("step", "float32", "yes", 30.0),
    ]
    for one in told:
        half, most = one.durations.quantile_s(0.5), one.durations.quantile_s(0.99)
        assert half is not None and most is not None
        assert 0 < half <= most
        assert MOST_REPORTED / 2 < one.durations.total < 2 * MOST_REPORTED
    assert joined.latencies.has(platform.bundle.manifest.pair, "step", "float32", since=0.0)
