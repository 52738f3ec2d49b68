"""Kill the platform in each state of a round: it ends once, and its model is that of a quiet run, bit for bit."""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psutil
import pytest

from tests.system.cohort import Cohort, update
from tests.system.conftest import Site
from tests.system.eventually import eventually

CATCHES = 10
"""Rounds in which a state of a few milliseconds is waited for; nearly every one shows it."""
RANDOM_KILLS = 4
Kill = Callable[[], None]


@pytest.fixture(scope="module")
def disturbed(site: Site) -> Iterator[Cohort]:
    """Measures its models, for which it merges in a child process."""
    with closing(Cohort(site, "disturbed", held_out=site.held_out)) as cohort:
        yield cohort


@pytest.fixture(scope="module")
def quiet(site: Site) -> Iterator[Cohort]:
    """Holds its rounds while the platform is left alone, and merges in the server itself."""
    with closing(Cohort(site, "quiet", held_out=None)) as cohort:
        yield cohort


@pytest.fixture
def kill(request: pytest.FixtureRequest, site: Site) -> Kill:
    """Kills the server alone, or everything; the platform answers again when it returns."""
    return site.platform.kill_server if request.param == "server" else site.platform.kill_all


def kills(*victims: str) -> pytest.MarkDecorator:
    """Each takes seconds, so that not every state meets both, and a short run meets the first alone."""
    first, *others = victims
    params = [first, *(pytest.param(other, marks=pytest.mark.long) for other in others)]
    return pytest.mark.parametrize("kill", params, indirect=True)


@pytest.fixture
def database(site: Site) -> Iterator[sqlite3.Connection]:
    """The platform's own, to look at, and to lock as a backup would."""
    path = site.platform.state / "coterie.sqlite3"
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)) as connection:
        yield connection


@pytest.fixture
def sender() -> Iterator[ThreadPoolExecutor]:
    """Sends what is answered only after a kill."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def state_of(database: sqlite3.Connection, cohort: Cohort, number: int) -> str:
    query = "SELECT state FROM rounds_round WHERE federation_id = ? AND number = ?"
    ((state,),) = database.execute(query, (cohort.federation.replace("-", ""), number)).fetchall()
    return str(state)


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def lock_in(database: sqlite3.Connection, cohort: Cohort, number: int, state: str) -> bool:
    """Stop all writing as soon as the round is in `state`; False, and no lock, where it was left before."""
    order = ["planned", "open", "closing", "merging", "published"]

    def look() -> str | None:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:  # the server writes
            return None
        found = state_of(database, cohort, number)
        if found == state:
            return found
        database.execute("ROLLBACK")
        return found if order.index(found) > order.index(state) else None

    return eventually(look, every_s=0) == state


def assert_as_quiet(disturbed: Cohort, quiet: Cohort, number: int) -> None:
    """The round ended once, with the bits of the quiet one."""
    while (turn := quiet.planned_round()) <= number:
        quiet.hold(turn)
    assert disturbed.parameters_after(number) == quiet.published[number]


@kills("all")
def test_killed_while_planned(disturbed: Cohort, quiet: Cohort, kill: Kill) -> None:
    number = disturbed.planned_round()
    kill()
    disturbed.deliver(number, disturbed.open_round(number))
    assert_as_quiet(disturbed, quiet, number)


@pytest.mark.long
@kills("server", "all")
def test_killed_while_open_with_one_update_in_and_half_of_another(disturbed: Cohort, quiet: Cohort, kill: Kill) -> None:
    number = disturbed.planned_round()
    assignments = disturbed.open_round(number)
    disturbed.deliver(number, assignments, but=2)
    second, half = update(number, 1), len(update(number, 1)) // 2
    disturbed.devices[1].offer(assignments[1], second)
    assert disturbed.devices[1].send(assignments[1], second[:half], 0).offset == half
    kill()
    eventually(lambda: disturbed.devices[1].offer(assignments[1], second).offset == half)
    disturbed.deliver(number, assignments)  # once more also the one that counts already
    assert_as_quiet(disturbed, quiet, number)


@pytest.mark.long
@kills("server")
def test_killed_while_closing(
    disturbed: Cohort, quiet: Cohort, kill: Kill, database: sqlite3.Connection, sender: ThreadPoolExecutor
) -> None:
    for _ in range(CATCHES):
        number = disturbed.planned_round()
        assignments = disturbed.open_round(number)
        disturbed.deliver(number, assignments, but=1)
        sent = sender.submit(disturbed.deliver, number, assignments)
        caught = lock_in(database, disturbed, number, "closing")
        if caught:
            kill()
            assert state_of(database, disturbed, number) == "closing"
            database.execute("ROLLBACK")
        sent.result()
        assert_as_quiet(disturbed, quiet, number)
        if caught:
            return
    pytest.fail(f"no round was seen closing in {CATCHES}")


@kills("server", "all")
def test_killed_while_merging(disturbed: Cohort, quiet: Cohort, kill: Kill, database: sqlite3.Connection) -> None:
    number = disturbed.planned_round()
    disturbed.deliver(number, disturbed.open_round(number))
    eventually(lambda: state_of(database, disturbed, number) == "merging", every_s=0.001)
    children = eventually(disturbed.site.platform.children_of_server, every_s=0.001)
    kill()
    eventually(lambda: all(has_ended(child) for child in children))  # the merge ends with its server
    assert_as_quiet(disturbed, quiet, number)
    eventually(lambda: not list((disturbed.site.platform.state / "temporary").iterdir()))  # and leaves nothing


@pytest.mark.long
@kills("all")
def test_killed_when_merged_but_not_published(
    disturbed: Cohort, quiet: Cohort, kill: Kill, database: sqlite3.Connection
) -> None:
    number = disturbed.planned_round()
    blobs = disturbed.site.platform.state / "blobs"
    before = set(blobs.rglob("?" * 64))
    disturbed.deliver(number, disturbed.open_round(number))
    eventually(disturbed.site.platform.children_of_server, every_s=0.001)
    assert lock_in(database, disturbed, number, "merging")
    eventually(lambda: set(blobs.rglob("?" * 64)) - before)
    kill()
    assert state_of(database, disturbed, number) == "merging"
    database.execute("ROLLBACK")
    assert_as_quiet(disturbed, quiet, number)


@pytest.mark.long
@kills("server")
def test_killed_when_just_published(disturbed: Cohort, quiet: Cohort, kill: Kill, database: sqlite3.Connection) -> None:
    number = disturbed.planned_round()
    disturbed.deliver(number, disturbed.open_round(number))
    eventually(lambda: state_of(database, disturbed, number) == "published", every_s=0.001)
    kill()
    assert_as_quiet(disturbed, quiet, number)


@pytest.mark.long
def test_killed_at_random_moments(disturbed: Cohort, quiet: Cohort, sender: ThreadPoolExecutor) -> None:
    moments = random.Random(7)
    first = disturbed.planned_round()
    numbers = range(first, first + 2)

    def hold_rounds() -> None:
        for number in numbers:
            disturbed.hold(number)
            disturbed.planned_round()

    held = sender.submit(hold_rounds)
    for _ in range(RANDOM_KILLS):
        time.sleep(moments.uniform(0, 1))  # waits for nothing: any moment is as good
        disturbed.site.platform.kill_server()
    held.result()
    assert_as_quiet(disturbed, quiet, numbers[-1])
    assert disturbed.published.items() <= quiet.published.items()
