from dataclasses import replace

from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.table import fleet_table
from tests.coterie.simulation.fleet.fleets import run


def test_why_no_round_could_open_is_told() -> None:
    few = replace(run(pace={"kind": "sync", "target_updates": 1000, "min_updates": 1000}), days=0.1)
    outcome = simulate_fleet(few, report=lambda _: None)
    shown = " ".join(str(cell) for column in fleet_table("few", outcome).columns for cell in column.cells)
    assert "no round could open: it needs 1,000 devices with samples that are ready at once, of 40" in shown
