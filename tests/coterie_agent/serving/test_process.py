"""``coterie-agent serve`` as a program uses it: a real process, asked over its Unix socket and 127.0.0.1."""

import json
import signal
import stat
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pytest

from coterie_agent.client import PredictionRefused, Predictions
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.serving.openapi import openapi
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import Bundle, make_bundle, parameters, samples
from tests.coterie_agent.serving.world import ENVIRONMENT, command, hold, holding, serving

REQUESTS = 12_000
CALLERS = 4


@pytest.fixture
def held(bundle: Bundle) -> Iterator[tuple[Home, Store]]:
    with (
        tempfile.TemporaryDirectory() as directory,
        holding(Path(directory), bundle) as found,
    ):  # a socket's path is short
        yield found


def classes(seed: int, x: np.ndarray) -> list[int]:
    """What the model with the parameters of `seed` says."""
    tensors = parameters(seed)
    return [int(one) for one in (x @ tensors["weight"].T + tensors["bias"]).argmax(axis=1)]


def asked(address: Any, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {address['token']}", **headers}
    try:
        request = urllib.request.Request(address["url"] + path, content, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def test_it_answers_what_predict_answers(held: tuple[Home, Store], tmp_path: Path) -> None:
    home, store = held
    x, _ = samples(50)
    (tmp_path / "asked.jsonl").write_text("\n".join(json.dumps({"x": row.tolist()}) for row in x))
    for personal in (False, True):
        if personal:
            store.peers.adopt(PersonalTensors("v1", encode_tensors(parameters(7))))
        done = subprocess.run(
            command(home.root, "predict", str(tmp_path / "asked.jsonl"), "--json"), capture_output=True, env=ENVIRONMENT
        )
        told = json.loads(done.stdout)
        with serving(home), Predictions(home.root) as model:
            answer = model.predict(x.tolist())
            assert (answer.version, answer.personal) == (told["version"], told["personal"]) == ("v1", personal)
            assert [one.label for one in answer.predictions] == [one["label"] for one in told["predictions"]]
            assert [one.probability for one in answer.predictions] == pytest.approx(
                [one["probability"] for one in told["predictions"]], abs=2e-6
            )


def test_who_may_ask(held: tuple[Home, Store]) -> None:
    home, _ = held
    with serving(home) as process:
        address = json.loads(home.serving.read_text())
        ask = {"samples": [{"x": [1, 0, 0, 0]}]}
        assert asked(address, "/predict", ask)[0] == 200
        assert asked({**address, "token": "guess"}, "/predict", ask)[1]["code"] == "local_api.unauthorised"
        assert asked(address, "/predict", ask, Host="evil.example:80")[1]["code"] == "local_api.foreign_host"
        assert asked(address, "/predict", {"samples": [{"x": [1]}]})[1]["code"] == "ingest.wrong_width"
        assert asked(address, "/predict", {"samples": [{"x": [1, 0, 0, 0]}] * 257})[0] == 400
        assert asked(address, "/elsewhere", ask)[0] == 404
        assert asked(address, "/openapi.json") == (200, json.loads(openapi()))
        modes = [stat.S_IMODE(Path(path).stat().st_mode) for path in (address["socket"], home.serving)]
        assert modes == [0o600, 0o600]
        second = subprocess.run(command(home.root, "serve"), capture_output=True, env=ENVIRONMENT, timeout=30)
        assert second.returncode == Exit.ALREADY_RUNNING
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert not home.serving.exists() and not Path(address["socket"]).exists()
    told = subprocess.run(command(home.root, "status"), capture_output=True, env=ENVIRONMENT, text=True).stdout
    assert "predictions: 1 of 2 requests answered by the model" in told
    with Predictions(home.root) as model, pytest.raises(AgentError, match="run: coterie-agent serve"):
        model.predict([[1, 0, 0, 0]])


@pytest.mark.long
def test_a_swap_of_versions_fails_no_request(held: tuple[Home, Store]) -> None:
    home, store = held
    bundles = {f"v{number}": make_bundle(version=f"v{number}", number=number, seed=number) for number in (1, 2, 3)}
    x, _ = samples(64)
    right = {version: classes(number, x) for number, version in enumerate(bundles, start=1)}
    hold(home, store, bundles["v1"])
    answered: list[str] = []
    wrong: list[object] = []

    def call() -> None:
        with Predictions(home.root) as model:
            for number in range(REQUESTS // CALLERS):
                place = number % len(x)
                try:
                    answer = model.predict([x[place].tolist()], deadline_ms=20_000)
                except AgentError as error:
                    wrong.append(error)
                    continue
                if answer.fallback or answer.predictions[0].index != right[answer.version][place]:
                    wrong.append(answer)
                answered.append(answer.version)

    with serving(home):
        callers = [threading.Thread(target=call) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        swapped = 0
        while any(caller.is_alive() for caller in callers):
            swapped += 1
            hold(home, store, bundles[f"v{swapped % 3 + 1}"])
            callers[0].join(0.3)
        for caller in callers:
            caller.join()
        with Predictions(home.root) as model:
            counted = model.status().counted
    assert wrong == []
    assert len(answered) == counted.answered == REQUESTS
    assert set(answered) == set(bundles) and counted.swaps >= 2
    assert counted.batches <= counted.samples == REQUESTS


def test_a_version_that_does_not_run_is_not_taken(held: tuple[Home, Store]) -> None:
    home, store = held
    with serving(home), Predictions(home.root) as model:
        broken = make_bundle(version="v2", number=2, tensors={**parameters(), "bias": np.full(3, np.nan, np.float32)})
        hold(home, store, broken)
        problem = None
        while problem is None:
            problem = model.status().problem
        assert problem.code == "tensors.not_finite"
        assert model.predict([[1, 0, 0, 0]]).version == "v1"


def test_a_device_without_a_model_says_so_until_it_has_one(held: tuple[Home, Store], bundle: Bundle) -> None:
    home, store = held
    store.work.delete_model()
    with serving(home), Predictions(home.root) as model:
        with pytest.raises(PredictionRefused) as refused:
            model.predict([[1, 0, 0, 0]])
        assert (refused.value.code, refused.value.is_passing) == ("agent.no_model", True)
        hold(home, store, bundle)
        answer = None
        while answer is None:
            try:
                answer = model.predict([[1, 0, 0, 0]])
            except PredictionRefused as error:
                assert error.code == "agent.no_model"
        assert answer.version == "v1"


def test_how_long_its_runs_take_is_kept_for_the_agent_to_tell(held: tuple[Home, Store]) -> None:
    home, store = held
    x, _ = samples(5)
    with serving(home) as process, Predictions(home.root) as model:
        model.predict(x.tolist())
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == Exit.OK
    (told,) = store.latencies.reportable()
    assert (told.version, told.work, told.form, told.charging) == ("v1", "predict", "float32", "unknown")
