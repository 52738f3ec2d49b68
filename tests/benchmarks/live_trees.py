"""Fifty random trees of real agents, with random kills (SIGKILL): does each make the version of a star?

Eight agents, some of which offer to be supernodes, are another tree in each round (`tests.system.live_trees` says how).
``live_trees.N`` holds ten of the trees, from number N on.
"""

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.benchmarks.report import Figure
from tests.system.live_trees import AGENTS, Held, LiveTrees
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state

TREES, AT_ONCE = 50, 10


def measure(seeds: Sequence[int] = range(TREES)) -> list[Figure]:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="live-trees-")))
        state = directory / "platform"
        seeded = prepare_state(directory / "made", pairs=len(seeds), state=str(state))
        platform = Platform(state)
        stack.callback(platform.stop)
        platform.start()
        operator = stack.enter_context(OperatorClient(platform.url, seeded.token))
        trees = LiveTrees(stack, operator, url=platform.url, state=state, pairs=iter(seeded.pairs), directory=directory)
        held = []
        for seed in seeds:
            held.append(trees.hold(seed, name=f"tree-{seed}"))
            _tell(seed, held[-1])
    return _figures(held)


PARTS: Mapping[str, Callable[[], Iterable[Figure]]] = {
    str(first): partial(measure, range(first, first + AT_ONCE)) for first in range(0, TREES, AT_ONCE)
}


def _tell(seed: int, held: Held) -> None:
    found = "; ".join(held.problems) or "the bits of a star"
    sys.stderr.write(
        f"tree {seed}: {found}; {held.sums} sums, {held.killed} killed, {held.killed_leaders} of them supernodes, "
        f"{held.rerouted} updates another way; {', '.join(held.whys)}\n"
    )
    sys.stderr.flush()


def _figures(held: Sequence[Held]) -> list[Figure]:
    case = f"{len(held)} random trees of {AGENTS} agents"
    of = f"of {len(held)}"
    wrong = sum(one.published and not one.same_bits for one in held)
    return [
        Figure(case, "rounds without a version", float(sum(not one.published for one in held)), of, "target 0"),
        Figure(case, "versions with other bits than a star's", float(wrong), of, "target 0"),
        Figure(case, "updates lost", float(sum(len(one.lost) for one in held)), "of devices that lived", "target 0"),
        Figure(case, "updates counted twice", float(sum(one.twice for one in held)), "updates", "target 0"),
        Figure(case, "devices killed", float(sum(one.killed for one in held)), "devices"),
        Figure(case, "of them supernodes", float(sum(one.killed_leaders for one in held)), "devices"),
        Figure(case, "sums in the versions", float(sum(one.sums for one in held)), "sums", "none: no trees"),
        Figure(case, "of them of several sites", float(sum(one.summed_again for one in held)), "sums"),
        Figure(case, "updates that went another way than planned", float(sum(one.rerouted for one in held)), "updates"),
    ]
