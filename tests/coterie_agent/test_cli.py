"""The command as its owner runs it, against a platform on loopback; a running agent is a process of its own."""

import configparser
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from coterie_agent.cli import main
from coterie_agent.errors import MEANINGS, Exit
from tests.coterie_agent.bundles import samples
from tests.coterie_agent.fake_platform import PLAN, TOKEN, FakePlatform

EDGE_AGENT = Path(__file__).parents[2] / "edge_agent"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(EDGE_AGENT)}
READY = '{"charging": "yes", "network": "wifi", "idle": "yes"}'
LONG = {**PLAN, "local": {"kind": "sgd", "epochs": 500, "learning_rate": 0.001}}


def command(home: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "coterie_agent", "--home", str(home), *arguments]


def ask(home: Path, *arguments: str) -> tuple[int, Any]:
    """What a command answers in this process: a start of Python for each takes longer than what most of them do."""
    told, complained = io.StringIO(), io.StringIO()
    with redirect_stdout(told), redirect_stderr(complained), pytest.raises(SystemExit) as ended:
        main(["--home", str(home), *arguments, "--json"])
    assert complained.getvalue() == ""
    return int(ended.value.code or 0), json.loads(told.getvalue())


def ask_process(home: Path, *arguments: str) -> tuple[int, Any]:
    """The same of a process of its own, as its owner asks."""
    done = subprocess.run(
        [*command(home, *arguments), "--json"], capture_output=True, text=True, env=ENVIRONMENT, timeout=30
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@contextmanager
def running(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command(home, "run"), env=ENVIRONMENT, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def home(tmp_path: Path, platform: FakePlatform) -> Path:
    """A device that has joined and has samples; its conditions come from a file."""
    return joined_home(tmp_path, platform, ask)


def joined_home(tmp_path: Path, platform: FakePlatform, ask: Ask) -> Path:
    home = tmp_path / "agent"
    home.mkdir()
    (home / "agent.toml").write_text('conditions_file = "conditions.json"\ncheckpoint_s = 0.1\n')
    (home / "conditions.json").write_text(READY)
    code, joined = ask(home, "join", platform.url, TOKEN, "--yes", "--name", "kiosk")
    assert (code, joined["device"], joined["name"]) == (0, "d1", "kiosk")
    features, labels = samples(60)
    lines = [json.dumps({"x": x.tolist(), "y": int(y)}) for x, y in zip(features, labels, strict=True)]
    (tmp_path / "samples.jsonl").write_text("\n".join(lines))
    assert ask(home, "ingest", str(tmp_path / "samples.jsonl")) == (
        0,
        {"stored": 60, "samples": 60, "repeated": 0},
    )
    return home


def test_a_device_from_joining_to_leaving(platform: FakePlatform, tmp_path: Path) -> None:
    home = joined_home(tmp_path, platform, ask_process)
    code, why = ask_process(home, "why")
    assert code == 0
    assert [reason["code"] for reason in why["waits"]] == ["agent.not_running"]
    assert ask_process(home, "predict", str(tmp_path / "samples.jsonl"))[0] == Exit.NO_MODEL
    with running(home) as process:
        platform.assign("a1")
        platform.wait_for(lambda: "a1" in platform.accepted)
        assert ask_process(home, "run")[0] == Exit.ALREADY_RUNNING
        assert ask_process(home, "leave")[0] == Exit.ALREADY_RUNNING
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
    code, predicted = ask_process(home, "predict", str(tmp_path / "samples.jsonl"))
    assert (code, predicted["version"], len(predicted["predictions"])) == (0, "v1", 60)
    assert {prediction["label"] for prediction in predicted["predictions"]} <= {"red", "green", "blue"}
    code, status = ask_process(home, "status")
    assert (code, status["samples"], status["running"], status["outcomes"][0]["outcome"]) == (0, 60, False, "accepted")
    code, left = ask_process(home, "leave", "--yes")
    assert (code, left["samples"]) == (0, 60)
    assert ask_process(home, "status")[0] == Exit.NOT_JOINED


def test_a_killed_agent_goes_on_from_its_checkpoint(home: Path, platform: FakePlatform) -> None:
    platform.check_in_s = 0.2
    with running(home) as process:
        platform.assign("a1", plan=LONG)
        platform.wait_for(lambda: _steps(platform) > 0)
        process.kill()
        process.wait()
    with running(home):
        platform.wait_for(lambda: "a1" in platform.accepted)
    assert len(platform.accepted) == 1
    assert platform.offers["a1"].steps_done == platform.offers["a1"].steps_total


def test_the_local_api_takes_samples_and_predicts(home: Path, platform: FakePlatform) -> None:
    platform.champion = True
    with running(home):
        platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
        address = json.loads((home / "local-api.json").read_text())
        sample = {"x": [2.0, 0.0, 0.0, 0.0], "y": 0}
        assert _post(address, "/samples", {"samples": [sample, sample]}) == (200, {"stored": 2, "samples": 62})
        status, answer = _post(address, "/predict", {"samples": [{"x": sample["x"]}]})
        assert (status, answer["version"], len(answer["predictions"])) == (200, "v1", 1)
        assert _post(address, "/samples", {"samples": [{"x": [1.0], "y": 0}]})[1]["code"] == "ingest.wrong_width"
        assert _post(address, "/samples", {"samples": [{"x": sample["x"], "y": 9}]})[1]["code"] == "ingest.bad_label"
        assert _post(address, "/samples", {"rows": []})[0] == 400
        assert _post({**address, "token": "guess"}, "/samples", {"samples": [sample]})[0] == 401
        assert _post(address, "/samples", {"samples": [sample]}, host="evil.example:80")[0] == 403
        assert _post(address, "/elsewhere", {})[0] == 404


def test_a_damaged_model_is_fetched_again_when_a_prediction_finds_it(home: Path, platform: FakePlatform) -> None:
    platform.champion = True
    with running(home):
        platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
        address = json.loads((home / "local-api.json").read_text())
        graph = platform.bundle.manifest.predict
        (home / "state" / "blobs" / graph.sha256).write_bytes(bytes(graph.size_bytes))
        check_ins = len(platform.check_ins)
        question = {"samples": [{"x": [2.0, 0.0, 0.0, 0.0]}]}
        status, problem = _post(address, "/predict", question)
        assert (status, problem["code"]) == (409, "bundle.wrong_hash")
        platform.wait_for(lambda: [told.version for told in platform.check_ins[check_ins:]][-2:] == [None, "v1"])
        assert _post(address, "/predict", question)[0] == 200


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (("join", "platform.example", "x"), Exit.USAGE, "agent.bad_url"),
        (("join", "https://platform.example"), Exit.USAGE, "agent.no_token"),
        (("join", "https://platform.example/phone/#join="), Exit.USAGE, "agent.no_token"),
        (("join", "http://127.0.0.1:1/phone/#join=x"), Exit.UNREACHABLE, "link.unreachable"),
        (("join", "http://127.0.0.1:1", "x"), Exit.UNREACHABLE, "link.unreachable"),
        (("--home", "/proc/nowhere", "run"), Exit.FAILED, "agent.bad_home"),
        (("status",), Exit.NOT_JOINED, "agent.not_joined"),
        (("run",), Exit.NOT_JOINED, "agent.not_joined"),
        (("ingest", "missing.csv"), Exit.BAD_DATA, "ingest.unreadable"),
    ],
)
def test_errors_have_codes_and_exit_codes(
    tmp_path: Path, arguments: tuple[str, ...], exit_code: Exit, code: str
) -> None:
    status, failure = ask_process(tmp_path / "agent", *arguments)
    assert (status, failure["code"], failure["exit_code"]) == (exit_code, code, exit_code)


def test_every_exit_code_is_documented() -> None:
    text = (EDGE_AGENT.parent / "docs" / "how-to" / "device-owner.md").read_text()
    assert all(f"| {code:d} | {meaning} |" in text for code, meaning in MEANINGS.items())
    assert MEANINGS.keys() == set(Exit)


def test_a_used_token_and_a_second_join(home: Path, platform: FakePlatform, tmp_path: Path) -> None:
    assert ask(home, "join", platform.url, TOKEN, "--yes")[0] == Exit.ALREADY_JOINED
    status, failure = ask(tmp_path / "other", "join", platform.url, "used", "--yes")
    assert (status, failure["code"]) == (Exit.REFUSED, "fleet.token_invalid")


@pytest.mark.parametrize(
    ("url", "warns"), [("http://nowhere.invalid", True), ("https://nowhere.invalid", False), ("http://[::1]:1", False)]
)
def test_joining_without_encryption_warns_before_the_token_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, warns: bool
) -> None:
    with pytest.raises(SystemExit):
        main(["--home", str(tmp_path / "agent"), "join", url, TOKEN, "--yes"])
    assert ("is not encrypted" in capsys.readouterr().err) == warns


def test_a_disk_that_is_full_is_told_wherever_a_file_is_written(platform: FakePlatform, tmp_path: Path) -> None:
    state = tmp_path / "agent" / "state"
    state.mkdir(parents=True)
    (state / "credential.part").symlink_to("/dev/full")
    status, failure = ask(tmp_path / "agent", "join", platform.url, TOKEN, "--yes")
    assert (status, failure["code"]) == (Exit.FAILED, "store.full")
    assert "make room on the device" in failure["detail"]


@pytest.mark.parametrize("where", ["peer-key", "blobs"])
def test_a_directory_in_place_of_a_file_of_the_agents_own_is_told_by_its_name(
    home: Path, platform: FakePlatform, where: str
) -> None:
    """At the start, and met by a thread."""
    platform.champion = True
    names = ["peer-key"] if where == "peer-key" else [f"blobs/{sha256}" for sha256 in platform.bundle.blobs]
    for name in names:
        (home / "state" / name).mkdir()
    done = subprocess.run(command(home, "run"), capture_output=True, text=True, env=ENVIRONMENT, timeout=30)
    assert done.returncode == Exit.FAILED
    assert any(f"{home}/state/{name}: Is a directory" in done.stderr for name in names)
    assert "[agent.bad_home]" in done.stderr and "Traceback" not in done.stderr


def test_unknown_settings_are_refused(home: Path) -> None:
    (home / "agent.toml").write_text("trian = true\n")
    status, failure = ask_process(home, "run")
    assert (status, failure["code"]) == (Exit.BAD_CONFIG, "config.invalid")
    assert "there is no 'trian', the nearest is " in failure["detail"]
    (home / "agent.toml").write_text("[relay]\nlead = true\n")
    status, failure = ask_process(home, "run")
    assert (status, failure["code"]) == (Exit.BAD_CONFIG, "config.invalid")
    assert "[relay]: there is no 'lead', the nearest is " in failure["detail"] and "max_load" in failure["detail"]


def test_a_file_that_is_given_twice_is_told(home: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "samples.jsonl")
    assert ask(home, "ingest", file) == (0, {"stored": 60, "samples": 120, "repeated": 60})
    assert ask(home, "ingest", "--replace", file) == (0, {"stored": 60, "samples": 60, "repeated": 0})


def test_a_broken_file_stores_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.csv").write_text("a,b,c,d,label\n1,2,3,4,0\n1,2,3,x,0\n")
    status, failure = ask(home, "ingest", "--replace", str(tmp_path / "broken.csv"))
    assert (status, failure["code"]) == (Exit.BAD_DATA, "ingest.not_a_number")
    assert "line 3" in failure["detail"]
    assert ask(home, "status")[1]["samples"] == 60


def _steps(platform: FakePlatform) -> int:
    progress = platform.check_ins[-1].progress if platform.check_ins else None
    return progress.steps_done if progress else 0


def _post(address: dict[str, str], path: str, body: object, host: str | None = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {address['token']}"}
    if host:
        headers["Host"] = host
    request = urllib.request.Request(address["url"] + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_the_unit_runs_this_agent_on_this_home_and_stops_where_nothing_would_change(tmp_path: Path) -> None:
    home = tmp_path / "100 % mine"
    code, told = ask(home, "unit")
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]  # as systemd, which tells a from A
    unit.read_string(told["unit"])
    assert code == 0
    started = f'{sys.executable} -m coterie_agent --home "{tmp_path}/100 %% mine" run'
    assert unit["Service"]["ExecStart"] == started
    assert {int(code) for code in unit["Service"]["RestartPreventExitStatus"].split()} <= set(Exit)
    assert not home.exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    _, told = ask(tmp_path / "agent", "unit")
    (tmp_path / "coterie-agent.service").write_text(told["unit"])
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "coterie-agent.service")],
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
