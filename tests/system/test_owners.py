"""An owner at a real agent of a real platform: what left it, all that is known of it, and that forgotten."""

from pathlib import Path

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

    told = agent.command("forget")["receipt"]
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
