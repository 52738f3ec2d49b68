"""The planner's arithmetic, by hand, and its limits."""

import json

import pytest
from click.testing import CliRunner

from coterie.cli.capacity import capacity
from coterie.offline.capacity import Fleet, cost_per_month, plan

TEN_MILLION = Fleet(10_000_000, 0.02, 463, 15, 2400, 1300, 4, 1e6, 0.25e6)


def test_a_small_fleet_takes_the_least_that_survives_a_death() -> None:
    found = plan(Fleet(100, 1.0, 200, 15, 24, 10, 4, 1e6, 0.25e6))
    assert found.check_ins_per_second == pytest.approx(100 / 15)
    assert found.check_in_every_s == pytest.approx(15)
    assert (found.web_processes, found.worker_cores) == (2, 2)
    assert found.worker_disk_bytes == 2.5e6


def test_ten_million_devices() -> None:
    found = plan(TEN_MILLION)
    assert found.check_in_every_s == pytest.approx(6 * 3600, rel=0.01)
    assert found.web_processes == 20, "200,000 sockets, 10,000 each"
    assert found.web_memory_bytes == pytest.approx(20 * 250e6 + 200_000 * 28.6e3)
    assert found.down_bytes_per_day == pytest.approx(3.12e12)
    # 40 million changes, every second check-in, and 3.12 million parts in rounds.
    assert found.wal_bytes_per_day == pytest.approx(40e6 * 3.8e3 + 463 * 86_400 / 2 * 3.4e3 + 3.12e6 * 9.8e3)
    rounds = 3.12e6 * (365 * 0.71e3 + 30 * 0.41e3) + 365 * 2400 * 3.8e3
    assert found.database_bytes == pytest.approx(10e6 * 2.8e3 + rounds)
    assert found.database_bytes_per_year == pytest.approx(365 * (3.12e6 * 0.33e3 + 2400 * 3.8e3))


@pytest.mark.parametrize(("every_s", "check_ins"), [(600, 136), (6 * 3600, 2), (12 * 3600, 1)])
def test_rows_say_once_in_23_hours_that_devices_are_present_and_more_often_where_those_come_rarely(
    every_s: float, check_ins: int
) -> None:
    idle = TEN_MILLION._replace(changes_per_day=0, rounds_per_day=0)
    fleet = idle._replace(check_ins_per_second=idle.devices / every_s)
    renewals = plan(fleet).wal_bytes_per_day / 3.4e3
    assert renewals == pytest.approx(fleet.devices * 86_400 / every_s / check_ins)


@pytest.mark.parametrize(
    "field", ["devices", "sockets_share", "rounds_per_day", "asked", "changes_per_day", "update_bytes"]
)
def test_more_never_takes_less(field: str) -> None:
    before, after = plan(TEN_MILLION), plan(TEN_MILLION._replace(**{field: 2 * getattr(TEN_MILLION, field)}))
    shrank = {name for name in before._fields if getattr(after, name) < getattr(before, name)}
    assert shrank == set()


def test_the_command() -> None:
    told = CliRunner().invoke(capacity, ["--devices", "10000000", "--check-ins", "463", "--json"])
    assert told.exit_code == 0 and json.loads(told.output)["web_processes"] == 20
    lines = CliRunner().invoke(capacity, ["--devices", "10000"]).output.splitlines()
    assert [line.split("  ")[0] for line in lines][1:3] == ["web processes", "worker cores"]
    assert CliRunner().invoke(capacity, ["--devices", "0"]).exit_code == 2


def test_what_has_a_price_costs_its_amount_and_nothing_else_is_guessed() -> None:
    found = plan(TEN_MILLION)
    assert cost_per_month(found, {}) == {}
    cost = cost_per_month(found, {"core": 20, "sent": 0.01})
    assert cost == {"core": 20 * (20 + 2), "sent": pytest.approx(0.01 * 30 * 3120)}
    given = ["--devices", "10000000", "--check-ins", "463", "--rounds", "2400", "--asked", "1300"]
    priced = [*given, "--price", "core", "20", "--price", "sent", "0.01"]
    assert "1,376 a month by your prices (core 440, sent 936)" in CliRunner().invoke(capacity, priced).output
    assert "cost" not in CliRunner().invoke(capacity, given).output
    assert json.loads(CliRunner().invoke(capacity, [*priced, "--json"]).output)["cost_per_month"] == pytest.approx(cost)
    assert CliRunner().invoke(capacity, [*given, "--price", "people", "1"]).exit_code == 2
