"""Two of the random trees of real agents that the benchmark `live_trees` has fifty of."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.system.conftest import Site
from tests.system.live_trees import LiveTrees

SEEDS = (0, 1)


@pytest.mark.long
def test_random_trees_whose_devices_die_make_the_version_of_a_star(site: Site, tmp_path: Path) -> None:
    with ExitStack() as stack:
        pairs = (site.unused_pair() for _ in SEEDS)
        trees = LiveTrees(
            stack, site.operator, url=site.url, state=site.platform.state, pairs=pairs, directory=tmp_path
        )
        held = [trees.hold(seed, name=f"live-tree-{seed}") for seed in SEEDS]
    assert [one.problems for one in held] == [[], []]
    assert sum(one.sums for one in held) > 0, "they were trees"
