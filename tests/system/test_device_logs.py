"""A real agent's log: asked for, allowed by a command of its owner, redacted, read at the platform."""

from pathlib import Path

from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.operator_client import Json
from tests.system.real_agent import RealAgent


def test_an_owner_allows_a_request_and_the_operator_reads_what_he_may(site: Site, tmp_path: Path) -> None:
    operator = site.operator
    agent = RealAgent(tmp_path / "logs-kiosk", site.url, operator.enrolment_token(tag="logs"))
    agent.start()
    try:

        def asked() -> Json | None:
            body = {"device": agent.id, "hours": 1, "why": "it never trains"}
            answer: Json = operator.http.post("/device-logs/", json=body).json()
            return answer if answer.get("state") == "asked" else None

        log = eventually(asked)  # once it has said that it can

        def heard() -> Json | None:
            found: Json = agent.command("logs")
            return found if found["asked"] is not None else None

        waiting = eventually(heard)
        assert (waiting["send"], waiting["asked"]["why"]) == ("ask", "it never trains")
        path = f"/device-logs/{log['id']}/"
        eventually(lambda: operator.get(path)["reason_code"] == "logs.asks_owner")
        assert operator.list(f"{path}lines/") == []
        agent.command("logs", "--allow", log["id"])
        delivered = eventually(lambda: found if (found := operator.get(path))["state"] == "delivered" else None)
        lines = operator.list(f"{path}lines/")
        assert len(lines) == delivered["line_count"] > 0
        texts = [line["text"] for line in lines]
        assert f"{agent.home.name} runs, [numbers] samples, platform {site.url}" in texts
        assert not any(str(tmp_path) in text for text in texts)
        (ended,) = eventually(lambda: agent.command("logs")["ended"])
        assert (ended["outcome"], ended["lines"]) == ("delivered", len(lines))
        sent = {one["what"] for one in agent.status()["sent"]}
        assert {"report-log", "deliver-log"} <= sent
        receipts = agent.command("export")["platform"]["sections"]["receipts"]
        assert [receipt["kind"] for receipt in receipts] == ["log"]
    finally:
        agent.kill()
