"""An owner at a real agent of a real platform: what left it, all that is known of it, and that forgotten."""

from pathlib import Path

import pytest

from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.real_agent import RealAgent

TAG = "owned"
PLAN = {
    "local": {"kind": "sgd", "epochs": 2, "learning_rate": 0.01},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 1, "over_selection": 1},
}


def test_what_left_a_device_is_told_and_forgotten(site: Site, tmp_path: Path) -> None:
    operator = site.operator
    federation = operator.start_federation(TAG, pair=site.unused_pair(), plan=PLAN, rounds_wanted=1)
    agent = RealAgent(tmp_path / "annas-pi", site.url, operator.enrolment_token(tag=TAG))
    agent.start()
    try:
        round_ = operator.ended_round(federation, 1, within_s=120)
        assert round_["state"] == "published"
        export = agent.command("export")
    finally:
        agent.kill()
    sections = export["platform"]["sections"]
    (receipt,) = sections["receipts"]
    assert (receipt["kind"], receipt["fate"], receipt["size_bytes"] > 1000) == ("update", "counted", True)
    (update,) = sections["updates"]
    assert update["loss_after"] < update["loss_before"]
    assert {one["what"] for one in export["sent"]} >= {"update", "check-in", "offer-update", "read-export"}
    (kept,) = [table for table in export["stored"] if table["name"] == "sample"]
    assert kept["rows"] == export["report"]["samples"] > 0

    told = agent.command("forget", "--yes")["receipt"]
    assert told["device"] == agent.id

    def done() -> bool:
        return bool(agent.command("forget")["receipt"]["done"])

    eventually(done, within_s=60)
    (held,) = agent.command("forget")["receipt"]["holds"]
    assert held["version_id"] == round_["result_version"]
    device = operator.get(f"/devices/{agent.id}/")
    assert (device["name"], device["state"]) == (f"forgotten {agent.id[:8]}", "left")
    sections = operator.get(f"/devices/{agent.id}/export/")["sections"]
    assert sections["updates"] == sections["observations"] == sections["receipts"] == []


@pytest.mark.long
def test_where_the_plan_promises_it_the_lineage_is_rebuilt_without_it(site: Site, tmp_path: Path) -> None:
    operator = site.operator
    pace = {"kind": "sync", "target_updates": 2, "min_updates": 2, "over_selection": 1}
    plan = {**PLAN, "pace": pace, "forgetting": {"kind": "replay", "days": 3}}
    federation = operator.start_federation("rebuilt", pair=site.unused_pair(), plan=plan, rounds_wanted=2)
    agents = [
        RealAgent(tmp_path / name, site.url, operator.enrolment_token(tag="rebuilt")) for name in ("annas-pi", "bos-pi")
    ]
    try:
        for agent in agents:
            agent.start()
        rounds = [operator.ended_round(federation, number, within_s=120) for number in (1, 2)]
    finally:
        for agent in agents:
            agent.kill()
    assert [round_["state"] for round_ in rounds] == ["published", "published"]

    agents[0].command("forget", "--yes")

    def receipt() -> dict[str, object]:
        return dict(agents[0].command("forget")["receipt"])

    eventually(lambda: bool(receipt()["done"]), within_s=60)
    (rebuilt,) = receipt()["rebuilt"]
    assert (rebuilt["done"], rebuilt["repeated"], rebuilt["retired"]) == (True, 2, 2), rebuilt["sentence"]
    (told,) = operator.get(f"/rebuilds/?federation={federation}")["results"]
    assert (told["state"], told["result_number"]) == ("done", rebuilt["version"])
    version = operator.get(f"/versions/{told['result_version']}/")
    assert (version["origin"], version["champion"], version["removed_at"]) == ("rebuild", True, None)
    for round_ in rounds:
        assert operator.get(f"/versions/{round_['result_version']}/")["removed_at"] is not None
