"""A real agent that renews its credential and is killed while it does."""

from pathlib import Path

from coterie_agent.home import Home
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.proxy import Proxy
from tests.system.real_agent import UNPLUGGED, RealAgent

RENEWING = b"POST /device/v1/next-credential"


def test_an_agent_killed_before_it_hears_that_its_next_credential_is_taken_goes_on(site: Site, tmp_path: Path) -> None:
    operator = site.operator
    with Proxy(site.url) as proxy:
        agent = RealAgent(tmp_path / "renewing", proxy.url, operator.enrolment_token(tag="renewing"))
        agent.set_conditions(UNPLUGGED)
        home = Home(agent.home)
        first = home.credential.read_text()
        proxy.loses_answers_to = RENEWING
        agent.start()
        try:
            eventually(lambda: operator.get(f"/devices/{agent.id}/")["capabilities"].get("renews"))
            order = operator.post("/credential-renewals/", {"tag": "renewing"})
            assert (order["devices"], order["unable"]) == (1, 0)
            operator.post(f"/devices/{agent.id}/renew-credential/")  # wakes it
            eventually(lambda: proxy.lost_answers > 0)
            drawn = home.next_credential.read_text()
            agent.kill()
            assert home.credential.read_text() == first, "the platform has not told it that it may"
            proxy.loses_answers_to = None
            agent.start()
            eventually(lambda: operator.get(f"/devices/{agent.id}/")["credential_since"])
            assert home.credential.read_text() == drawn != first
            assert operator.get(f"/devices/{agent.id}/")["renewal"] is None
            assert operator.get(f"/credential-renewals/{order['id']}/")["waiting"] == 0
            at = operator.get(f"/devices/{agent.id}/")["last_seen_at"]
            agent.kill()
            agent.start()
            eventually(lambda: operator.get(f"/devices/{agent.id}/")["last_seen_at"] > at)
        finally:
            agent.kill()
