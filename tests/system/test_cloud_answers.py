"""A device whose model is late is answered by the platform, where its owner lets samples go there and nowhere else."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coterie_agent.client import PredictionRefused, Predictions
from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.late_model import LATE
from tests.system.model import samples
from tests.system.processes import ROOT, environment
from tests.system.real_agent import RealAgent

NO_SOCKET = '[serving]\nsocket = ""\n'
"""The path of a test's directory may be too long for one."""
CONSENT = "[platform]\nsend_samples = true\nafter_ms = 50\n"
ACTION = "cloud_answers.answer_device"
PLAN = {"fallback": {"kind": "cloud_model", "samples": 4}, "pace": {"kind": "sync", "min_updates": 9}}
"""No round, which would be in the way."""


@contextmanager
def serving(agent: RealAgent) -> Iterator[Predictions]:
    """``coterie-agent serve`` whose model is late while the file is there."""
    command = [sys.executable, "-m", "tests.system.late_model", str(agent.home), "serve"]
    with subprocess.Popen(command, env=environment(), cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            eventually((agent.home / "serve.json").exists, every_s=0.05)
            with Predictions(agent.home) as model:
                yield model
        finally:
            process.kill()
            process.wait()
            (agent.home / "serve.json").unlink(missing_ok=True)
            (agent.home / LATE).unlink(missing_ok=True)


def sent(agent: RealAgent) -> int:
    """Messages with samples, by the owner's journal."""
    with open_store(Home(agent.home)) as store:
        return sum(one.messages for one in store.journal.sent_totals() if one.what == "ask-platform")


def is_offered(agent: RealAgent) -> bool:
    """Whether the device knows that the platform answers for it."""
    with open_store(Home(agent.home)) as store:
        return store.platform_offer.load() is not None


def test_the_platform_answers_for_a_late_model_with_the_owners_consent_and_not_without(
    site: Site, tmp_path: Path
) -> None:
    operator, pair = site.operator, site.unused_pair()
    agent = RealAgent(tmp_path / "a", site.url, operator.enrolment_token(tag="cloud"), settings=NO_SOCKET + CONSENT)
    federation = operator.start_federation("cloud", pair=pair, plan=PLAN)
    x = samples(2, seed=3)[0].reshape(2, -1).tolist()
    try:
        agent.start()
        with serving(agent) as model:
            eventually(lambda: model.status().version is not None and is_offered(agent))
            own = model.predict(x, deadline_ms=20_000)
            assert own.fallback is None
            (agent.home / LATE).touch()
            answer = model.predict(x, deadline_ms=20_000)
            assert (answer.fallback, answer.form, answer.version) == ("platform", "float32", own.version)
            assert [one.index for one in answer.predictions] == [one.index for one in own.predictions]  # type: ignore[union-attr]
            counted = model.status().counted
        assert (counted.answered, counted.platform_answers, counted.platform_failures) == (1, 1, 0)
        assert sent(agent) == 1
        (entry,) = [one for one in operator.list("/audit/", action=ACTION) if one["subject_id"] == agent.id]
        assert entry["after"]["federation"] == operator.get(f"/federations/{federation}/")["slug"]

        agent.kill()
        settings = agent.home / "agent.toml"
        settings.write_text(settings.read_text().replace("send_samples = true", "send_samples = false"))
        with serving(agent) as model:
            (agent.home / LATE).touch()
            with pytest.raises(PredictionRefused) as refused:
                model.predict(x, deadline_ms=300)
            assert refused.value.code == "serve.late"
            assert model.status().counted.platform_failures == 0
        assert sent(agent) == 1
    finally:
        agent.kill()
