"""What the SDK sends, follows and raises; the notebook's test has a real platform."""

import io
import zipfile
from email import message_from_bytes
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.sdk.errors import EvaluationFailed, JobFailed, NotOne, NoVersion, Refused, Rejected, Unreachable
from coterie.sdk.federation import Federation
from coterie.sdk.records import Dataset, Job, Pair, Version
from coterie.sdk.rest import PATIENCE_S
from coterie_wire.tensors import encode_tensors
from tests.coterie.offline.test_description import REPORT
from tests.coterie.sdk.scripted_platform import ScriptedPlatform
from tests.coterie.world import MODEL

EXAMPLE = torch.zeros(1, 4)
ID = "0b6cd6a4-7d5e-4f46-8b53-8a0f4b4d9c55"
Json = dict[str, Any]


def pair(state: str, **more: object) -> Json:
    return {
        "id": "p",
        "name": "digits",
        "state": state,
        "spec": msgspec.to_builtins(MODEL) if state == "ready" else None,
        "report": msgspec.to_builtins(REPORT) if state == "ready" else {},
        "device_champion": None,
        "cloud_champion": None,
        "reason_code": "",
        "reason_sentence": "",
        "reason_fields": {},
        "recipe": {},
        **more,
    }


def job(kind: str, state: str, **more: object) -> Json:
    told = {"progress": 0.5, "progress_sentence": "epoch 3 of 6", "error_code": "", "error_sentence": ""}
    return {"id": kind, "kind": kind, "state": state, **told, **more}


READY = msgspec.json.decode(msgspec.json.encode(pair("ready")), type=Pair)
DATASET = Dataset("d", "first", 2)


@pytest.fixture
def scripted() -> ScriptedPlatform:
    return ScriptedPlatform()


@pytest.fixture
def models() -> dict[str, nn.Module]:
    return {"device": nn.Linear(4, 3), "cloud": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))}


def form(scripted: ScriptedPlatform, request: str) -> dict[str, list[bytes]]:
    """The fields and files of the only such request."""
    body = scripted.bodies[scripted.asked.index(request)]
    boundary = body.split(b"\r\n", 1)[0][2:]
    parts = message_from_bytes(b"Content-Type: multipart/form-data; boundary=" + boundary + b"\r\n\r\n" + body)
    found: dict[str, list[bytes]] = {}
    for part in parts.get_payload():
        name = part.get_param("name", header="content-disposition")
        found.setdefault(name, []).append(part.get_payload(decode=True))
    return found


class TestPublish:
    def test_uploads_both_programs_and_waits_for_the_verdict(
        self, scripted: ScriptedPlatform, models: dict[str, nn.Module], capsys: pytest.CaptureFixture[str]
    ) -> None:
        scripted.answers("POST pairs/", pair("checking"), status=201)
        scripted.answers("GET jobs/", {"results": [job("preflight", "running")]})
        scripted.answers("GET pairs/p/", pair("checking"), pair("ready"))
        recipe = {"optimiser": {"kind": "adam"}}
        found = scripted.platform.publish(
            "digits", **models, example=EXAMPLE, labels=["a", "b", "c"], recipe=recipe, batch_size=8
        )
        assert (found.report, found.spec) == (REPORT, MODEL)
        assert str(found).startswith("digits is ready\nmodel ")
        sent = form(scripted, "POST pairs/")
        assert sent.keys() == {"name", "labels", "batch_size", "recipe", "device", "cloud"}
        assert sent["labels"] == [b"a", b"b", b"c"]
        assert msgspec.json.decode(sent["recipe"][0]) == recipe
        assert all(sent[role][0].startswith(b"PK") for role in models), "they are archives of torch.export.save"
        assert "preflight 50%: epoch 3 of 6" in capsys.readouterr().err

    def test_raises_what_the_preflight_says(self, scripted: ScriptedPlatform, models: dict[str, nn.Module]) -> None:
        fields = {"operator": "aten.nonzero.default", "module": "encoder.0", "reason": "weigh them by a mask"}
        code, sentence = "compile.unsupported_operator", "Operator aten.nonzero.default cannot be compiled."
        reason = {"reason_code": code, "reason_sentence": sentence, "reason_fields": fields}
        scripted.answers("POST pairs/", pair("rejected", **reason), status=201)
        with pytest.raises(Rejected, match="nonzero") as caught:
            scripted.platform.publish("digits", **models, example=EXAMPLE, progress=False)
        found = caught.value
        assert (found.code, found.operator, found.module, found.advice) == (code, *fields.values())

    def test_sends_nothing_that_cannot_be_exported(
        self, scripted: ScriptedPlatform, models: dict[str, nn.Module]
    ) -> None:
        class Branches(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return x if x.sum() > 0 else -x

        with pytest.raises(Rejected) as caught:
            scripted.platform.publish(
                "digits", device=nn.Sequential(Branches()), cloud=models["cloud"], example=EXAMPLE
            )
        assert (caught.value.code, caught.value.module, caught.value.operator) == ("compile.data_dependent", "0", None)
        assert "torch.where" in caught.value.advice
        assert scripted.asked == []

    def test_a_loss_of_ones_own_goes_along_and_running_statistics_stay(self, scripted: ScriptedPlatform) -> None:
        def huber(output: Tensor, target: Tensor) -> Tensor:
            return nn.functional.huber_loss(output, target, reduction="none").mean(1)

        norm = nn.BatchNorm1d(4)
        scripted.answers("POST pairs/", pair("ready"), status=201)
        models = {"device": norm, "cloud": nn.Linear(4, 4)}
        given = {"example": torch.ones(2, 4), "loss": huber, "progress": False}
        scripted.platform.publish("digits", **models, **given, target=torch.zeros(2, 4))
        sent = form(scripted, "POST pairs/")
        assert msgspec.json.decode(sent["recipe"][0]) == {"loss": {"kind": "custom"}}
        assert sent["loss"][0].startswith(b"PK")
        assert norm.running_mean is not None
        assert norm.running_mean.tolist() == [0.0] * 4
        with pytest.raises(ValueError, match="go together"):
            scripted.platform.publish("digits", **models, **given)


class TestBootstrap:
    def test_follows_both_jobs(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("POST datasets/", {"id": "d", "name": "first", "rows": 2}, status=201)
        scripted.answers("POST pairs/p/bootstrap/", job("bootstrap", "queued"), status=201)
        scripted.answers("GET jobs/bootstrap/", job("bootstrap", "running"), job("bootstrap", "succeeded"))
        scripted.answers("GET jobs/", {"results": [job("distill", "running")]})
        scripted.answers("GET jobs/distill/", job("distill", "succeeded"))
        scripted.answers("GET pairs/p/", pair("ready", device_champion="v"))
        x = np.asfortranarray(np.arange(8, dtype=np.float32).reshape(2, 4))
        dataset = scripted.platform.add_dataset("first", x=x, y=torch.tensor([0, 1]))
        arrays = np.load(io.BytesIO(form(scripted, "POST datasets/")["file"][0]), allow_pickle=False)
        assert arrays["x"].tolist() == x.tolist()
        assert arrays["x"].flags.c_contiguous
        assert arrays["y"].dtype == np.int64
        strategy = {"kind": "data_parallel", "workers": 4}
        found = scripted.platform.bootstrap(READY, dataset, strategy=strategy, epochs=3)
        assert found.device_champion == "v"
        assert scripted.json("POST pairs/p/bootstrap/") == {"dataset": "d", "epochs": 3, "strategy": strategy}

    @pytest.mark.parametrize(
        ("ended", "code", "sentence"),
        [
            (
                job("bootstrap", "failed", error_code="child.slow", error_sentence="Too slow."),
                "child.slow",
                "Too slow.",
            ),
            (job("bootstrap", "cancelled"), "cloud_training.cancelled", "The bootstrap was cancelled."),
        ],
    )
    def test_raises_what_a_job_failed_of(
        self, scripted: ScriptedPlatform, ended: Json, code: str, sentence: str
    ) -> None:
        scripted.answers("POST pairs/p/bootstrap/", ended, status=201)
        with pytest.raises(JobFailed) as caught:
            scripted.platform.bootstrap(READY, DATASET, progress=False)
        assert (caught.value.code, caught.value.sentence) == (code, sentence)

    def test_tells_why_a_job_waits(self, scripted: ScriptedPlatform, capsys: pytest.CaptureFixture[str]) -> None:
        away = "it goes on 5 s from now: refused"
        waits = job("bootstrap", "queued", error_code="storage.unavailable", error_sentence=away)
        scripted.answers("POST pairs/p/bootstrap/", waits, status=201)
        scripted.answers("GET jobs/bootstrap/", job("bootstrap", "succeeded"))
        scripted.answers("GET jobs/", {"results": [job("distill", "succeeded")]})
        scripted.answers("GET pairs/p/", pair("ready", device_champion="v"))
        scripted.platform.bootstrap(READY, DATASET)
        assert f"bootstrap waits, {away}" in capsys.readouterr().err


class TestUploadedWeights:
    def test_become_the_first_versions(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("POST pairs/p/uploaded-weights/", [])
        scripted.answers("GET pairs/p/", pair("ready", cloud_champion="c"))
        assert scripted.platform.use_uploaded_weights(READY, models=["cloud"]).cloud_champion == "c"
        assert scripted.json("POST pairs/p/uploaded-weights/") == {"models": ["cloud"]}

    def test_of_the_cloud_model_are_distilled(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("POST pairs/p/distill/", job("distill", "succeeded"), status=201)
        scripted.answers("GET pairs/p/", pair("ready", device_champion="d"))
        found = scripted.platform.distill(READY, DATASET, distil_epochs=3, progress=False)
        assert found.device_champion == "d"
        assert scripted.json("POST pairs/p/distill/") == {"dataset": "d", "distil_epochs": 3}


class TestFederation:
    def test_from_its_making_to_a_published_round(
        self, scripted: ScriptedPlatform, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def round_(state: str, reason: str = "") -> Json:
            told = {"reason_code": "rounds.needs_devices" if reason else "", "reason_sentence": reason, "metrics": None}
            return {"results": [{"id": 1, "number": 1, "state": state, **told}]}

        record = {"id": "f", "name": "kiosks", "pair": "p", "state": "draft", "members": 0}
        scripted.answers("POST federations/", record, status=201)
        scripted.answers("POST federations/f/start/", {**record, "state": "running"})
        scripted.answers("GET federations/f/", {**record, "state": "running", "plan": {"codec": {"kind": "int8"}}})
        needed = "It cannot hold a round yet: one needs 10 devices (pace), and 6 devices are there."
        scripted.answers("POST federations/f/plan-preview/", {"problems": [], "notes": [needed], "effects": []})
        waiting = round_("planned", "needs 3 devices, 1 eligible")
        scripted.answers("GET rounds/", {"results": []}, waiting, round_("published"))
        federation = scripted.platform.federation(
            "kiosks", READY, plan={"codec": {"kind": "int8"}}, held_out=DATASET, rounds=5
        )
        assert scripted.json("POST federations/") == {
            "name": "kiosks",
            "pair": "p",
            "plan": {"codec": {"kind": "int8"}},
            "device_tag": "",
            "held_out": "d",
            "cloud_data": None,
            "tolerance": 0.02,
            "rounds_wanted": 5,
            "own_versions": False,
        }
        federation.start()
        assert scripted.json("POST federations/f/plan-preview/") == {"plan": {"codec": {"kind": "int8"}}}
        assert capsys.readouterr().err == f"{needed}\n"
        assert federation.state == "running"
        assert federation.wait_for_round(1).state == "published"
        assert "round 1 is planned: needs 3 devices, 1 eligible" in capsys.readouterr().err

    @pytest.fixture
    def federation(self, scripted: ScriptedPlatform) -> Federation:
        record = {"id": "f", "name": "a", "pair": "p", "lineage": "a/base", "state": "running", "members": 0}
        scripted.answers("POST federations/", record, status=201)
        scripted.answers("POST federations/f/adopt/", record)
        return scripted.platform.federation("a", READY, own_versions=True)

    def test_metrics_are_a_table(self, scripted: ScriptedPlatform, federation: Federation) -> None:
        waiting = {"id": 2, "number": 2, "state": "planned", "reason_code": "x.y", "reason_sentence": "needs 3 devices"}
        figures = {"accuracy": 0.5, "updates": 3, "class_accuracy": [0.5, None]}
        held = {
            "id": 1,
            "number": 1,
            "state": "published",
            "reason_code": "",
            "reason_sentence": "",
            "metrics": figures,
        }
        scripted.answers("GET rounds/", {"results": [held, {**waiting, "metrics": None}]})
        table = federation.metrics()
        assert table.columns == ("round", "state", "reason", "accuracy", "updates")
        assert table.column("accuracy") == [0.5, None]
        assert table.column("reason") == [None, "needs 3 devices"]

    def test_metrics_before_the_first_round_say_so(self, scripted: ScriptedPlatform, federation: Federation) -> None:
        scripted.answers("GET rounds/", {"results": []})
        assert str(federation.metrics()) == "No round has been planned yet."

    def test_its_own_version_in_use_is_downloaded(self, scripted: ScriptedPlatform, federation: Federation) -> None:
        def version(identifier: str, *, champion: bool) -> Json:
            facts = {"role": "device", "number": 1, "lineage": "a/base", "origin": "merge", "metrics": {}}
            return {"id": identifier, "champion": champion, **facts}

        module = nn.Linear(4, 3)
        learned = {"weight": np.full((3, 4), 2.0, np.float32), "bias": np.zeros(3, np.float32)}
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("parameters.safetensors", encode_tensors(learned))
        scripted.answers("GET pairs/p/", pair("ready", device_champion="v0"))
        scripted.answers("GET versions/", {"results": [version("v2", champion=False), version("v1", champion=True)]})
        for identifier in ("v0", "v1"):
            name = f"GET versions/{identifier}/archive/"
            scripted.answers(name, httpx.Response(200, content=content.getvalue()))
        module.load_state_dict(federation.download(module), strict=True)
        np.testing.assert_array_equal(module.weight.detach().numpy(), learned["weight"])
        assert scripted.asked[-1] == "GET versions/v1/archive/"
        assert scripted.platform.download(READY, module)["bias"].tolist() == [0, 0, 0]
        assert scripted.asked[-1] == "GET versions/v0/archive/", "the pair's"
        scripted.refuses("GET versions/v9/archive/", "registry.version_removed", "its parameters are gone", status=410)
        gone = Version("v9", "device", 9, "", "merge", False, {})
        with pytest.raises(Refused, match="are gone"):
            scripted.platform.download(READY, module, version=gone)

    def test_a_model_without_a_version_cannot_be_downloaded(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("GET pairs/p/", pair("ready"))
        with pytest.raises(NoVersion, match="cloud model of digits has no version"):
            scripted.platform.download(READY, nn.Linear(4, 3), role="cloud")

    def test_the_pair_takes_over_its_versions(self, scripted: ScriptedPlatform, federation: Federation) -> None:
        federation.adopt()
        assert scripted.asked[-1] == "POST federations/f/adopt/"

    def test_devices_get_a_secret(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("POST enrolment-tokens/", {"secret": "s3cret"}, status=201)
        assert scripted.platform.enrolment_token("kiosks", uses=3, tags=["kiosk"]) == "s3cret"
        assert scripted.json("POST enrolment-tokens/")["uses_allowed"] == 3


class TestPair:
    def test_is_found_by_its_name(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("GET pairs/", {"results": [pair("ready"), pair("ready", name="digits 2")]})
        assert scripted.platform.pair("digits").id == "p"

    @pytest.mark.parametrize(("rows", "says"), [([], "No pair is called"), ([pair("ready")] * 2, "2 pairs are called")])
    def test_that_is_not_one_is_told(self, scripted: ScriptedPlatform, rows: list[Json], says: str) -> None:
        scripted.answers("GET pairs/", {"results": rows})
        with pytest.raises(NotOne, match=f"{says} 'digits'"):
            scripted.platform.pair("digits")


class TestAnswers:
    def test_a_refusal_is_raised_with_its_code(self, scripted: ScriptedPlatform) -> None:
        scripted.refuses(
            f"GET pairs/{ID}/", "acting.scope_needed", "make a token that has it", status=403, needed="read"
        )
        with pytest.raises(Refused, match="make a token that has it") as caught:
            scripted.platform.pair(ID)
        assert (caught.value.code, caught.value.fields) == ("acting.scope_needed", {"needed": "read"})

    def test_something_that_is_no_platform_is_told(self, scripted: ScriptedPlatform) -> None:
        scripted.answers(f"GET pairs/{ID}/", httpx.Response(404, text="<html>nothing here</html>"))
        with pytest.raises(Refused, match=f"http://platform/api/pairs/{ID}/ was answered with status 404") as caught:
            scripted.platform.pair(ID)
        assert caught.value.code == "sdk.unexpected_answer"

    def test_a_question_waits_for_a_platform_that_starts_anew(self, scripted: ScriptedPlatform) -> None:
        scripted.answers(f"GET pairs/{ID}/", httpx.ConnectError("refused"), httpx.Response(503), pair("ready"))
        assert scripted.platform.pair(ID).state == "ready"

    def test_in_the_end_it_gives_up(self, scripted: ScriptedPlatform) -> None:
        scripted.answers(f"GET pairs/{ID}/", httpx.ConnectError("refused"))
        with pytest.raises(Unreachable, match="http://platform does not answer: refused"):
            scripted.platform.pair(ID)
        assert scripted.slept_s == PATIENCE_S

    def test_a_program_that_connects_is_told_at_once(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("GET platform/", httpx.ConnectError("refused"))
        with pytest.raises(Unreachable):
            scripted.platform.rest.get_at_once("platform/", dict)
        assert (scripted.asked, scripted.slept_s) == (["GET platform/"], 0)

    def test_what_changes_something_is_sent_once(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("POST enrolment-tokens/", httpx.ReadTimeout("slow"))
        with pytest.raises(Unreachable):
            scripted.platform.enrolment_token("kiosks")
        assert scripted.asked == ["POST enrolment-tokens/"]


class TestEvaluate:
    VERSION = Version("v", "device", 7, "", "merge", True, {})

    @staticmethod
    def told(state: str, **more: object) -> Json:
        reason = {"reason_code": "fleet_evaluation.x", "reason_sentence": "1 of 2 devices have told how it does"}
        return {"id": "e", "version": "v", "federation": "f", "state": state, "figures": None, **reason, **more}

    def test_waits_for_the_figures(self, scripted: ScriptedPlatform, capsys: pytest.CaptureFixture[str]) -> None:
        spread = {"mean": 0.5, "deciles": [0.1 * tenth for tenth in range(1, 10)], "worst": 0.1}
        summary = {"devices": 2, "samples": 40, "loss": 1.5, "losses": spread, "accuracy": 0.6, "accuracies": spread}
        figures = {"devices": 2, "reports": 2, "faults": 0, "summary": summary, "by_tag": {"kiosk": summary}}
        scripted.answers("POST evaluations/", self.told("planned"), status=201)
        scripted.answers("GET evaluations/e/", self.told("measuring"), self.told("finished", figures=figures))
        found = scripted.platform.evaluate(self.VERSION, devices=2, tag="kiosk")
        assert found.summary is not None and found.summary.accuracies is not None
        assert (found.summary.accuracy, found.summary.accuracies.worst) == (0.6, 0.1)
        assert scripted.json("POST evaluations/") == {
            "version": "v",
            "federation": None,
            "devices": 2,
            "reports": 1,
            "tag": "kiosk",
            "within_s": 86400,
        }
        assert "1 of 2 devices have told" in capsys.readouterr().err

    def test_raises_why_it_failed(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("POST evaluations/", self.told("failed"), status=201)
        with pytest.raises(EvaluationFailed, match="1 of 2 devices"):
            scripted.platform.evaluate(self.VERSION, progress=False)

    def test_lists_those_of_a_version(self, scripted: ScriptedPlatform) -> None:
        scripted.answers("GET evaluations/", {"results": [self.told("finished")]})
        assert [one.state for one in scripted.platform.evaluations(self.VERSION)] == ["finished"]


def test_a_plan_is_tried_and_its_forecast_fetched(
    scripted: ScriptedPlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"devices": 9, "profile": "phones", "profile_reason": "too short", "expected": None, "happened": []}
    span = {"low": 0.7, "middle": 0.8, "high": 0.9}
    names = (
        *("duration_s", "lost", "up_bytes", "accuracy", "bytes_per_device", "joules_per_device"),
        *("device_accuracy_median", "device_accuracy_worst_decile"),
    )
    expected = {
        **dict.fromkeys(names, span),
        "begins_with": 0.5,
        "rounds": [{"number": 1, "accuracy": span}],
        "moments": [],
    }
    running, done = job("simulation", "running", left_s=12.0), job("simulation", "succeeded")
    record = {"id": "f", "name": "digits", "pair": "p", "state": "draft", "members": 3}
    scripted.answers("POST federations/", record, status=201)
    scripted.answers("POST federations/f/plan-forecasts/", {**told, "job": running}, status=201)
    scripted.answers("GET jobs/simulation/", done)
    forecasts = [{**told, "job": done, "expected": expected}]
    scripted.answers("GET federations/f/plan-forecasts/", {"calibration": [], "forecasts": forecasts})
    found = scripted.platform.federation("digits", READY).try_plan(dataset=DATASET, rounds=5)
    asked = scripted.json("POST federations/f/plan-forecasts/")
    assert found.expected is not None and found.expected.rounds[0].accuracy.middle == 0.8
    assert isinstance(asked, dict) and (asked["dataset"], asked["rounds"]) == ("d", 5)
    assert "about 12 s left" in capsys.readouterr().err


def test_runs_of_a_sweep_are_listed_with_what_they_found(scripted: ScriptedPlatform) -> None:
    wanted = {"plan": {}, "seed": 1, "rounds": 40, "evaluate_every": 1}
    names = {"id": "r", "fleet": "f", "pair_name": "gait.pt2", "data_name": "people.npz", "asked_by": "ada"}
    standing = {"state": "succeeded", "progress": 1.0, "left_s": None, "reason_code": "", "reason_sentence": ""}
    devices = {"device_accuracy_median": 0.95, "device_accuracy_worst_decile": 0.7, "joules_per_device": 12.0}
    figures = {"accuracy": 0.93, "accuracies": [0.5, 0.93], "bytes_per_device": 352_000.0, **devices}
    told = {**names, **standing, **figures, "wanted": wanted}
    scripted.answers("GET simulation-runs/", {"results": [told]})
    (found,) = scripted.platform.simulations(fleet="f")
    assert (found.accuracy, found.wanted["seed"], found.asked_by) == (0.93, 1, "ada")
    assert (found.device_accuracy_worst_decile, found.joules_per_device) == (0.7, 12.0)
    scripted.answers("POST simulation-runs/r/cancel/", {**told, "state": "cancelled"})
    assert scripted.platform.cancel_simulation(found, why="not needed").state == "cancelled"
    assert scripted.json("POST simulation-runs/r/cancel/") == {"why": "not needed"}


def test_a_job_is_cancelled_with_a_reason(scripted: ScriptedPlatform) -> None:
    told = job(
        "simulation", "cancelled", error_code="cloud_training.cancelled", error_sentence="ada cancelled it: too long"
    )
    scripted.answers("POST jobs/simulation/cancel/", told)
    waits = msgspec.convert(job("simulation", "running"), Job)
    assert scripted.platform.cancel_job(waits, why="too long").error_sentence == "ada cancelled it: too long"
    assert scripted.json("POST jobs/simulation/cancel/") == {"why": "too long"}
