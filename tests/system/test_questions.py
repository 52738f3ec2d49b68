"""Real agents that are asked about themselves: exact sums, noisy ones that are charged, and owners who say no."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from coterie_agent.device import capabilities
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json
from tests.system.real_agent import RealAgent

AGENTS = 4
EPSILON = 2.0
AGREES = '[questions]\nanswer = ["classes", "hardware"]\nwithout_noise = true\nmin_devices = 3\n'
TERMS = {"min_devices": 3, "corrupted": 0.0, "dropped": 0.25, "step_s": 5}
RESTS = {"pace": {"kind": "sync", "target_updates": 400, "min_updates": 400}}
"""No round is held with so few."""
CLASSES = {"kind": "classes", "classes": 10, "most": 1000}


class Fleet:
    """A federation whose agents' owners have agreed."""

    def __init__(self, site: Site, stack: ExitStack, directory: Path, name: str) -> None:
        self.operator = site.operator
        self.federation = site.operator.start_federation(name, pair=site.unused_pair(), plan=RESTS)
        token = site.operator.enrolment_token(tag=name, uses=AGENTS)
        self.counts, self.agents = np.zeros((AGENTS, 10), np.int64), []
        for number in range(AGENTS):
            x, y = samples(50 + 10 * number, seed=number)
            self.counts[number] = np.bincount(y, minlength=10)
            agent = RealAgent(directory / f"agent-{number}", site.url, token, learns=(x, y), settings=AGREES)
            stack.callback(agent.kill)
            agent.start()
            self.agents.append(agent)

    def ask(self, count: Json, *, epsilon: float | None = None) -> Json:
        """Once enough agents have said that their owners agree."""

        def tried() -> Json | None:
            answer = self.post(count, epsilon=epsilon)
            if answer.get("code") == "analytics.too_few_devices":
                return None
            assert answer.get("state") == "open", answer
            return answer

        return eventually(tried)

    def post(self, count: Json, *, epsilon: float | None = None) -> Json:
        content = {"count": count, **TERMS}
        body = {"federation": self.federation, "content": content, "epsilon": epsilon, "devices": AGENTS}
        found: Json = self.operator.http.post("/analytics/", json={**body, "within_s": 45}).json()
        return found

    def ended(self, question: Json) -> Json:
        def look() -> Json | None:
            found = self.operator.get(f"/analytics/{question['id']}/")
            return found if found["state"] not in ("open", "summing") else None

        return eventually(look, within_s=120)


@pytest.mark.long
def test_a_fleet_counts_its_samples_exactly_and_sends_no_more(site: Site, tmp_path: Path) -> None:
    with ExitStack() as stack:
        fleet = Fleet(site, stack, tmp_path, "counted")
        answer = fleet.ended(fleet.ask(CLASSES))

        assert answer["state"] == "answered", answer["reason_sentence"]
        assert (answer["devices"], answer["deviation"]) == (AGENTS, 0)
        assert answer["counts"] == fleet.counts.sum(axis=0).tolist()
        agent = fleet.agents[0]
        told = eventually(lambda: agent.status()["questions"])
        assert [one["outcome"] for one in told] == ["answered"]
        sent = {row["what"] for row in agent.status()["sent"]}
        assert {"join-sum", "share-secrets", "offer-masked", "reveal-shares"} <= sent
        assert "offer-update" not in sent

        refused = fleet.post({"kind": "words", "of": "charging", "words": ["yes"]})  # no owner agreed to it
        assert (refused["code"], refused["fields"]["able"]) == ("analytics.too_few_devices", 0)


@pytest.mark.long
def test_whatever_is_killed_the_answer_is_a_sum_of_whole_devices(site: Site, tmp_path: Path) -> None:
    with ExitStack() as stack:
        fleet = Fleet(site, stack, tmp_path, "disturbed")
        question = fleet.ask(CLASSES)
        fleet.agents[0].kill()
        site.platform.kill_all()
        fleet.agents[0].start()
        answer = fleet.ended(question)

        assert answer["state"] == "answered", answer["reason_sentence"]
        everybody = fleet.counts.sum(axis=0)
        possible = [everybody, *(everybody - one for one in fleet.counts)]
        assert answer["counts"] in [one.tolist() for one in possible]


@pytest.mark.long
def test_an_answer_with_noise_is_charged_by_both_and_an_owner_who_allows_no_more_is_left_out(
    site: Site, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        fleet = Fleet(site, stack, tmp_path, "noised")
        machine = capabilities().machine
        count = {"kind": "words", "of": "machine", "words": [machine, "a toaster"]}
        answer = fleet.ended(fleet.ask(count, epsilon=EPSILON))

        assert answer["state"] == "answered", answer["reason_sentence"]
        assert (answer["epsilon"], answer["cells"]) == (EPSILON, [machine, "a toaster", "other"])
        assert answer["deviation"] > 0
        assert np.abs(np.array(answer["counts"]) - [answer["devices"], 0, 0]).max() < 6 * answer["deviation"]
        privacy = fleet.operator.get(f"/federations/{fleet.federation}/privacy/")
        assert privacy["epsilon"] == pytest.approx(EPSILON, abs=1e-3)
        strict = fleet.agents[0]
        own = strict.status()["privacy"]
        assert own["epsilon"] == pytest.approx(EPSILON, abs=1e-3)
        assert own["federations"] == {"noised": own["epsilon"]}

        strict.kill()
        with (strict.home / "agent.toml").open("a", encoding="utf-8") as settings:
            settings.write("[privacy]\nepsilon = 2.1\n")
        strict.start()
        second = fleet.ended(fleet.ask(count, epsilon=EPSILON))
        assert second["state"] == "answered", second["reason_sentence"]
        assert second["declined"] == [{"code": "privacy.device_budget", "devices": 1}]
        assert second["devices"] == AGENTS - 1
        newest = strict.status()["questions"][0]
        assert newest["outcome"] == "declined"
        assert "its owner allows 2.1" in newest["sentence"]
        assert strict.status()["privacy"]["epsilon"] == own["epsilon"]
