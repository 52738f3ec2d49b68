"""Rounds for TensorBoard and MLflow: each once, in order, whatever is killed and whoever does not answer."""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.core import pruning
from coterie.core.rows import PARTS
from coterie.exports import services
from coterie.exports.errors import NotTaken
from coterie.exports.installed import chosen_exporters
from coterie.exports.interface import RoundFact, VersionFact
from coterie.exports.mlflow import Mlflow
from coterie.exports.models import Exported, ExportedUntil
from coterie.exports.pruning import OLD_ROWS
from coterie.exports.tensorboard import TensorBoard
from coterie.federations.services import create_federation, start_federation
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Assignment, Round
from tests.coterie.exports.event_reading import events_in
from tests.coterie.world import fleet_of, in_this_process, later, make_pair, make_version, merge_round

pytestmark = pytest.mark.django_db


def fact(number: int, *, version: VersionFact | None = None, **figures: float) -> RoundFact:
    return RoundFact(
        federation="f-1",
        slug="digits",
        number=number,
        state="published",
        finished_at=later(60.0 * number),
        figures={"accuracy": 0.5 + number / 100, "updates": 3.0, **figures},
        reason="",
        version=version,
    )


def a_published_round() -> Round:
    pair = make_pair()
    make_version(pair)
    pace = {"kind": "sync", "target_updates": 2, "over_selection": 1, "min_updates": 1}
    federation = create_federation(name="digits", pair=pair, plan={"pace": pace}, now=later(0), seed=3)
    start_federation(federation=federation, now=later(0))
    devices = fleet_of(2)
    for device in devices:
        device.say(later(0))
    for _ in range(2):
        advance_federation(federation_id=federation.pk, now=later(0))
    for seed, device in enumerate(devices):
        device.deliver(str(Assignment.objects.get(device=device.row).pk), later(4), seed=seed)
    advance_federation(federation_id=federation.pk, now=later(4))
    merge_round(federation.rounds.get(number=1), clock=lambda: later(5), merger=in_this_process)
    return federation.rounds.get(number=1)


YEAR_S = 366 * 86_400.0


def _removed_notes(now: datetime, *, statements: int = PARTS) -> int:
    return {one.table: one.rows for one in pruning.prune(now=now, parts=statements)}["exports.Exported"]


class Keeping:
    """Keeps what it is told, unless it is away."""

    def __init__(self) -> None:
        self.told: list[RoundFact] = []
        self.is_away = False

    def export(self, rounds: Sequence[RoundFact]) -> None:
        if self.is_away:
            raise NotTaken(exporter="keeping", why="it is away")
        self.told += rounds


class TestSweep:
    def test_a_round_is_told_once_with_its_figures_and_its_version(self) -> None:
        round_, keeping = a_published_round(), Keeping()
        assert services.export_next("keeping", keeping, now=timezone.now()) == 1
        (told,) = keeping.told
        version = round_.result_version
        assert version is not None and told.version is not None
        assert (told.slug, told.number, told.state, told.reason) == ("digits", 1, "published", "")
        assert (told.version.id, told.version.sha256) == (str(version.pk), version.parameters.sha256)
        assert told.figures["updates"] == 2
        assert told.figures["duration_s"] == (round_.finished_at - round_.opened_at).total_seconds()  # type: ignore[operator]
        assert all(isinstance(value, float) for value in told.figures.values())
        assert services.export_next("keeping", keeping, now=timezone.now()) == 0
        assert services.export_next("another", keeping, now=timezone.now()) == 1, "each exporter has its own account"

    def test_one_that_is_away_gets_the_same_later_and_keeps_no_other_back(
        self, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        a_published_round()
        away, there = Keeping(), Keeping()
        away.is_away = True
        monkeypatch.setattr(services, "chosen_exporters", lambda: {"away": away, "there": there})
        services.sweep(now=timezone.now())
        assert (len(away.told), len(there.told)) == (0, 1)
        away.is_away = False
        services.sweep(now=timezone.now())
        assert (len(away.told), len(there.told)) == (1, 1)

    def test_a_round_that_ends_again_is_told_again(self) -> None:
        round_, keeping = a_published_round(), Keeping()
        Exported.objects.create(exporter="keeping", round=round_, state="abandoned", at=later(0))
        assert services.export_next("keeping", keeping, now=timezone.now()) == 1

    def test_a_round_whose_note_was_removed_is_not_told_again(
        self, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        round_, keeping = a_published_round(), Keeping()
        settings.KEEP_HISTORY_DAYS = 30
        services.export_next("keeping", keeping, now=later(60))
        assert _removed_notes(later(60)) == 0, "it is recent"
        ended = Round.objects.create(
            federation=round_.federation,
            number=round_.number + 7,
            state=Round.State.ABANDONED,
            seed=1,
            opens_at=later(0),
            finished_at=later(4),
        )
        assert _removed_notes(later(YEAR_S)) == 0, "another that ended before it is still to be told"
        assert services.export_next("keeping", keeping, now=later(60)) == 1
        monkeypatch.setattr(pruning, "declared", lambda: [replace(kind, at_once=1) for kind in OLD_ROWS])
        assert _removed_notes(later(YEAR_S), statements=1) == 1
        assert services.export_next("keeping", keeping, now=later(YEAR_S)) == 0, "killed in between"
        assert _removed_notes(later(YEAR_S)) == 1
        assert not Exported.objects.exists()
        assert services.export_next("keeping", keeping, now=later(YEAR_S)) == 0
        Round.objects.filter(pk=ended.pk).update(finished_at=later(YEAR_S))
        assert services.export_next("keeping", keeping, now=later(YEAR_S)) == 1, "it ended again"
        assert [told.number for told in keeping.told] == [1, 8, 8]
        assert services.export_next("another", keeping, now=later(YEAR_S)) == 2, "who came later is told all"

    @pytest.mark.skipif(connection.vendor != "sqlite", reason="another database reads a small table as it is")
    def test_rounds_that_were_kept_long_ago_are_not_read_again(self) -> None:
        round_, keeping = a_published_round(), Keeping()
        assert services.export_next("keeping", keeping, now=later(60)) == 1
        assert services.export_next("keeping", keeping, now=later(YEAR_S)) == 0
        assert ExportedUntil.objects.get().until > round_.finished_at  # type: ignore[operator]
        with CaptureQueriesContext(connection) as queries:
            assert services.export_next("keeping", keeping, now=later(YEAR_S)) == 0
        assert len(queries) == 3, "where it stands, the rounds since, and whether to note that"
        (reading,) = [query["sql"] for query in queries if "rounds_round" in query["sql"]]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {reading}")
            plan = [row[3] for row in cursor.fetchall()]
        assert "SEARCH rounds_round USING INDEX ended_round (finished_at>?)" in plan, plan
        assert not any("ORDER BY" in step for step in plan), "those since then are sorted"

    def test_a_round_whose_end_is_seen_late_is_told(self) -> None:
        round_, keeping = a_published_round(), Keeping()
        assert round_.finished_at is not None
        settled = round_.finished_at + services.SETTLED
        Round.objects.update(finished_at=None)
        assert services.export_next("keeping", keeping, now=settled - timedelta(seconds=1)) == 0
        Round.objects.update(finished_at=round_.finished_at)
        assert services.export_next("keeping", keeping, now=settled + timedelta(days=1)) == 1

    def test_nothing_is_asked_where_no_exporter_is_chosen(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            services.sweep(now=timezone.now())


class TestSettings:
    def test_names_are_found_and_what_is_missing_is_said(self, settings: Settings, tmp_path: Path) -> None:
        settings.EXPORTERS, settings.TENSORBOARD_DIR = ("tensorboard",), tmp_path
        assert isinstance(chosen_exporters()["tensorboard"], TensorBoard)
        settings.EXPORTERS = ("nobody",)
        with pytest.raises(ImproperlyConfigured, match="tensorboard"):
            chosen_exporters()
        settings.EXPORTERS, settings.MLFLOW_URL = ("mlflow",), ""
        with pytest.raises(ImproperlyConfigured, match="COTERIE_MLFLOW_URL"):
            chosen_exporters()


class TestTensorBoard:
    def test_a_file_a_round_that_is_the_same_when_it_comes_again(self, tmp_path: Path) -> None:
        board, rounds = TensorBoard(tmp_path), [fact(number) for number in (9, 10)]
        board.export(rounds)
        before = {path.name: path.read_bytes() for path in (tmp_path / "digits").iterdir()}
        board.export(rounds)
        assert {path.name: path.read_bytes() for path in (tmp_path / "digits").iterdir()} == before
        first, second = sorted((tmp_path / "digits").iterdir())
        begins, figures = events_in(first.read_bytes())
        assert begins.file_version == "brain.Event:2"
        assert {one.tag: one.simple_value for one in figures.summary.value} == pytest.approx(
            {"accuracy": 0.59, "updates": 3.0}
        )
        assert (figures.step, figures.wall_time) == (9, later(540).timestamp())
        assert events_in(second.read_bytes())[1].step == 10

    def test_a_folder_that_cannot_be_written_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "digits").write_text("a file")
        with pytest.raises(NotTaken, match="digits"):
            TensorBoard(tmp_path).export([fact(1)])


class Tracking:
    """As much of MLflow's server as is asked, with its refusals; it keeps what it was told."""

    def __init__(self) -> None:
        self.experiments: dict[str, str] = {}
        self.runs: list[dict[str, Any]] = []
        self.metrics: set[tuple[str, str, float, int, int]] = set()
        self.models: set[str] = set()
        self.versions: list[dict[str, Any]] = []
        self.token = ""
        self.fails_at = ""
        tracking = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({})

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, body: dict[str, Any]) -> None:
                path = self.path.removeprefix("/api/2.0/mlflow/").partition("?")[0]
                tracking.token = self.headers.get("Authorization", "")
                status, answer = (500, {}) if path == tracking.fails_at else tracking.answer(path, body, self.path)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """The test says what went wrong."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: dict[str, Any], url: str) -> tuple[int, dict[str, Any]]:
        match path:
            case "experiments/get-by-name":
                found = self.experiments.get("coterie")
                return (200, {"experiment": {"experiment_id": found}}) if found else (404, {})
            case "experiments/create":
                self.experiments[body["name"]] = "7"
                return 200, {"experiment_id": "7"}
            case "runs/search":
                kept = [one for one in self.runs if one["tags"][0]["value"] in body["filter"]]
                return 200, {"runs": [{"info": {"run_id": one["id"]}} for one in kept]}
            case "runs/create":
                self.runs.append({**body, "id": f"r{len(self.runs)}"})
                return 200, {"run": {"info": {"run_id": self.runs[-1]["id"]}}}
            case "runs/log-batch":
                assert len(body["metrics"]) <= 1000
                for one in body["metrics"]:
                    self.metrics.add((body["run_id"], one["key"], one["value"], one["timestamp"], one["step"]))
                return 200, {}
            case "registered-models/create":
                if body["name"] in self.models:
                    return 400, {"error_code": "RESOURCE_ALREADY_EXISTS"}
                self.models.add(body["name"])
                return 200, {}
            case "model-versions/search":
                return 200, {"model_versions": [one for one in self.versions if one["tags"][0]["value"] in url]}
            case "model-versions/create":
                self.versions.append(body)
                return 200, {}
        raise AssertionError(path)


@pytest.fixture
def tracking() -> Iterator[Tracking]:
    tracking = Tracking()
    yield tracking
    tracking.close()


VERSION = VersionFact(
    id="0b6cd6a4-7d5e-4f46-8b53-8a0f4b4d9c55", pair="digits", role="device", lineage="", number=4, sha256="a" * 64
)


class TestMlflow:
    def test_what_comes_twice_is_one_run_and_one_version(self, tracking: Tracking) -> None:
        rounds = [fact(1), fact(2, version=VERSION)]
        for _ in range(2):
            Mlflow(tracking.url, token="secret").export(rounds)
        (run,) = tracking.runs
        assert (run["run_name"], run["tags"]) == ("digits", [{"key": "coterie.federation", "value": "f-1"}])
        assert {(key, value, step) for _, key, value, _, step in tracking.metrics} == {
            ("accuracy", 0.51, 1),
            ("updates", 3.0, 1),
            ("accuracy", 0.52, 2),
            ("updates", 3.0, 2),
        }
        (version,) = tracking.versions
        assert (version["name"], version["run_id"]) == ("digits.device", run["id"])
        assert tracking.token == "Bearer secret"

    @pytest.mark.parametrize("at", ["experiments/create", "runs/create", "runs/log-batch", "model-versions/create"])
    def test_whatever_fails_is_told_and_done_the_next_time(self, at: str, tracking: Tracking) -> None:
        tracking.fails_at = at
        rounds = [fact(1, version=VERSION)]
        with pytest.raises(NotTaken, match="mlflow"):
            Mlflow(tracking.url).export(rounds)
        tracking.fails_at = ""
        Mlflow(tracking.url).export(rounds)
        assert (len(tracking.runs), len(tracking.metrics), len(tracking.versions)) == (1, 2, 1)

    def test_many_figures_go_in_parts(self, tracking: Tracking) -> None:
        many = {f"class_accuracy/{number}": 0.5 for number in range(2500)}
        Mlflow(tracking.url).export([fact(1, **many)])
        assert len(tracking.metrics) == 2502

    def test_one_that_does_not_answer_is_told(self, tracking: Tracking) -> None:
        tracking.close()
        with pytest.raises(NotTaken, match="mlflow"):
            Mlflow(tracking.url).export([fact(1)])
