"""A platform, as a script or a notebook sees it."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import msgspec
from numpy.typing import ArrayLike
from rich.filesize import decimal
from torch import Tensor, nn

from coterie.offline.progress import ProgressLine
from coterie.sdk.arrays import write_arrays
from coterie.sdk.downloading import download
from coterie.sdk.errors import EvaluationFailed, NotOne, Rejected
from coterie.sdk.exporting import Example, LossFunction, recipe_with_loss, write_programs
from coterie.sdk.federation import Federation, FederationRecord
from coterie.sdk.following import follow, stage_of
from coterie.sdk.records import Dataset, Evaluation, Job, Pair, Role, SimulationRun, Version
from coterie.sdk.rest import Rest
from coterie.sdk.state_dict import StateDict
from coterie_wire.length import Length


def connect(url: str, token: str) -> "Platform":
    """The platform at `url`, with an API token of the scopes `read`, `models` and `federations`.

    To let devices in, the token wants `fleet`, too. Raises Unreachable at once, and Refused where it is not known.
    """
    rest = Rest(url, token)
    rest.get_at_once("platform/", _About)
    return Platform(rest)


class Platform:
    """Every method raises Refused or Unreachable besides what it names."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    @property
    def rest(self) -> Rest:
        """Its REST API."""
        return self._rest

    def close(self) -> None:
        """End its connections; for programs that go on with other things."""
        self._rest.close()

    def publish(
        self,
        name: str,
        *,
        cloud: nn.Module,
        device: nn.Module,
        example: Example,
        labels: Sequence[str] = (),
        recipe: Mapping[str, object] | None = None,
        length: Length | None = None,
        loss: LossFunction | None = None,
        target: Tensor | None = None,
        batch_size: int = 32,
        progress: bool = True,
    ) -> Pair:
        """Export both models, upload them, and wait for the pre-flight; gives the pair that it accepts.

        `example` are inputs of the models, each with a leading batch axis; `labels` what classes or labels are called;
        `batch_size` the samples of a step. `recipe` says how the device model is trained (by default cross-entropy and
        SGD over all parameters; `docs/reference/kinds.md`). `length` says that samples differ in it, for example
        ``Length(1, 64, {"words": 0})``: sentences of one to 64 words in the argument ``words`` of both models, [batch,
        length]. `loss` is one of your own, a function of a batch's outputs and targets that gives a number for each
        sample, with `target` as examples of targets; its task stands in the recipe: ``{"loss": {"kind": "custom",
        "task": "classes"}}``. Raises Rejected. When it is interrupted, the pre-flight goes on.
        """
        with ProgressLine.wanted(progress) as line, ExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coterie-export-")))
            models = {"device": device, "cloud": cloud}
            paths = write_programs(directory, models, example, length=length, loss=loss, target=target, show=line.show)
            line.show(f"uploading {decimal(sum(path.stat().st_size for path in paths.values()))}")
            fields = {
                "name": name,
                "labels": list(labels),
                "batch_size": str(batch_size),
                "recipe": msgspec.json.encode(recipe_with_loss(recipe, loss)).decode(),
            }
            files = {role: stack.enter_context(path.open("rb")) for role, path in paths.items()}
            pair = self._rest.upload("pairs/", Pair, fields, files)
            while pair.state == "checking":
                self._rest.pause()
                job = next(iter(self._jobs(pair, "preflight")), None)
                line.show(stage_of(job) if job else "waiting for the pre-flight")
                pair = self._now(pair.id)
            line.show(f"{name} is {pair.state}")
        if pair.state == "rejected":
            raise Rejected(pair.reason_code, pair.reason_sentence, pair.reason_fields)
        return pair

    def pairs(self) -> list[Pair]:
        """The newest 500 pairs."""
        return self._rest.page("pairs/", Pair)

    def pair(self, which: str) -> Pair:
        """The pair of that identifier or name, as it stands now. Raises NotOne unless one has the name."""
        if _is_id(which):
            return self._now(which)
        found = [pair for pair in self._rest.page("pairs/", Pair, search=which) if pair.name == which]
        if len(found) != 1:
            raise NotOne(which, len(found))
        return found[0]

    def _now(self, pair: str) -> Pair:
        """The pair of that identifier, as it stands now."""
        return self._rest.get(f"pairs/{pair}/", Pair)

    def versions(self, pair: Pair) -> list[Version]:
        """The newest 500 of both models, the newest first."""
        return self._rest.page("versions/", Version, pair=pair.id, sort="-created_at")

    def download(
        self, pair: Pair, module: nn.Module, *, role: Role = "device", version: Version | None = None
    ) -> StateDict:
        """A version of one of the pair's models, by default the one in use, as a state dict.

        ``module.load_state_dict(platform.download(pair, module))`` takes all of it, where `module` is built as the one
        that was published; it is left alone. Raises OtherModule or NoVersion.
        """
        if version is not None:
            role = version.role
        identifier = "" if version is None else version.id
        return download(self._rest, pair=pair.id, lineage="", role=role, module=module, version=identifier)

    def use_uploaded_weights(self, pair: Pair, *, models: Sequence[Role] = ("cloud", "device")) -> Pair:
        """Begin with the weights with which the `models` were published, as when they are trained; no bootstrap then.

        Where the cloud model alone is trained, name it alone, and `distill` the device model from it.
        """
        self._rest.post(f"pairs/{pair.id}/uploaded-weights/", list[Version], {"models": list(models)})
        return self._now(pair.id)

    def distill(self, pair: Pair, dataset: Dataset, *, progress: bool = True, **options: float) -> Pair:
        """Distil the next device version from the cloud model in use; gives the pair as it is then.

        `options` are fields of the request, as ``distil_epochs=20``. Raises JobFailed.
        """
        with ProgressLine.wanted(progress) as line:
            job = self._rest.post(f"pairs/{pair.id}/distill/", Job, {"dataset": dataset.id, **options})
            follow(self._rest, job, line)
        return self._now(pair.id)

    def add_dataset(self, name: str, **arrays: ArrayLike) -> Dataset:
        """Upload samples, by default `x` and `y`: float32 or int64 [rows, ...]; classes and tokens are int64."""
        with tempfile.TemporaryFile(suffix=".npz") as file:
            write_arrays(file, arrays)
            file.seek(0)
            return self._rest.upload("datasets/", Dataset, {"name": name}, {"file": file})

    def bootstrap(
        self,
        pair: Pair,
        dataset: Dataset,
        *,
        strategy: Mapping[str, object] | None = None,
        launcher: str = "any",
        progress: bool = True,
        **options: float | str,
    ) -> Pair:
        """Train the cloud model on `dataset` and distil the first device version from it; gives the pair as it is then.

        `strategy` spreads the cloud model's training over processes, as ``{"kind": "data_parallel", "workers": 4}``
        (`docs/reference/kinds.md`); by default one trains. `launcher` says who starts them: any, here,
        kubernetes or slurm. `options` are fields of the request, as ``epochs=20`` or
        ``device="gpus"``.
        Raises JobFailed. Interrupted, the training goes on.
        """
        asked: dict[str, object] = {} if strategy is None else {"strategy": dict(strategy)}
        if launcher != "any":
            asked["launcher"] = launcher
        with ProgressLine.wanted(progress) as line:
            job = self._rest.post(f"pairs/{pair.id}/bootstrap/", Job, {"dataset": dataset.id, **options, **asked})
            follow(self._rest, job, line)
            # The distillation was asked for in the transaction that ended the bootstrap.
            follow(self._rest, self._jobs(pair, "distill")[0], line)
        return self._now(pair.id)

    def federation(
        self,
        name: str,
        pair: Pair,
        *,
        plan: Mapping[str, object] | None = None,
        device_tag: str = "",
        held_out: Dataset | None = None,
        cloud_data: Dataset | None = None,
        tolerance: float = 0.02,
        rounds: int | None = None,
        own_versions: bool = False,
    ) -> Federation:
        """A federation of the devices with `device_tag` (blank: all), which waits to be started.

        `plan` is what `coterie.sdk.plan` gives, or has a kind in each slot (`docs/reference/kinds.md`); what it leaves
        out has its default. A candidate is judged on `held_out`, where its accuracy may be less by `tolerance`;
        `cloud_data` are for plans that distil; after `rounds` it ends. With `own_versions` it leaves the pair's
        versions as they are and moves its own, so that several can hold rounds at once (an A/B trial); `adopt` makes
        those of one the pair's.
        """
        body = {
            "name": name,
            "pair": pair.id,
            "plan": dict(plan or {}),
            "device_tag": device_tag,
            "held_out": None if held_out is None else held_out.id,
            "cloud_data": None if cloud_data is None else cloud_data.id,
            "tolerance": tolerance,
            "rounds_wanted": rounds,
            "own_versions": own_versions,
        }
        return Federation(self._rest, self._rest.post("federations/", FederationRecord, body))

    def evaluate(
        self,
        version: Version,
        *,
        devices: int = 50,
        reports: int = 1,
        tag: str = "",
        within_s: int = 24 * 3600,
        federation: Federation | None = None,
        progress: bool = True,
    ) -> Evaluation:
        """Have a sample of devices measure a version on samples that they hold out, and wait for the figures.

        `devices` are asked, of those with `tag` where one is given, of the `federation` that moves the version's
        lineage where none is; `reports` of them must have measured it within `within_s` seconds. Raises
        EvaluationFailed. Interrupted, the evaluation goes on: ``evaluations(version)`` has it.
        """
        body = {
            "version": version.id,
            "federation": None if federation is None else federation.id,
            "devices": devices,
            "reports": reports,
            "tag": tag,
            "within_s": within_s,
        }
        with ProgressLine.wanted(progress) as line:
            found = self._rest.post("evaluations/", Evaluation, body)
            while not found.is_over:
                line.show(str(found))
                self._rest.pause()
                found = self._rest.get(f"evaluations/{found.id}/", Evaluation)
            line.show(str(found))
        if found.state != "finished":
            raise EvaluationFailed(found.reason_code, found.reason_sentence)
        return found

    def evaluations(self, version: Version) -> list[Evaluation]:
        """The newest 500 of a version, the newest first."""
        return self._rest.page("evaluations/", Evaluation, version=version.id, sort="-created_at")

    def simulations(self, *, fleet: str | None = None) -> list[SimulationRun]:
        """The newest 500 simulated runs that its workers performed or will, of one `fleet` or of all."""
        of = {} if fleet is None else {"fleet": fleet}
        return self._rest.page("simulation-runs/", SimulationRun, sort="-created_at", **of)

    def cancel_simulation(self, run: SimulationRun, *, why: str = "") -> SimulationRun:
        """Stop a run; `why` stands in its reason. What it has done is kept: asked for again, it goes on from there.

        Raises Rejected where it has ended.
        """
        return self._rest.post(f"simulation-runs/{run.id}/cancel/", SimulationRun, {"why": why})

    def cancel_job(self, job: Job, *, why: str = "") -> Job:
        """Stop a bootstrap, a distillation, or a plan that is tried; `why` stands in its reason.

        Raises Rejected where it has ended.
        """
        return self._rest.post(f"jobs/{job.id}/cancel/", Job, {"why": why})

    def enrolment_token(self, label: str, *, uses: int = 1, hours: float = 24, tags: Sequence[str] = ()) -> str:
        """A secret with which `uses` devices may join within `hours`: ``coterie-agent join URL SECRET``."""
        expires_at = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
        body = {"label": label, "uses_allowed": uses, "expires_at": expires_at, "tags": list(tags)}
        return self._rest.post("enrolment-tokens/", _Secret, body).secret

    def _jobs(self, pair: Pair, kind: str) -> list[Job]:
        """The newest first."""
        return self._rest.page("jobs/", Job, pair=pair.id, kind=kind, sort="-created_at")


class _About(msgspec.Struct, frozen=True):
    version: str


class _Secret(msgspec.Struct, frozen=True):
    secret: str


def _is_id(which: str) -> bool:
    try:
        UUID(which)
    except ValueError:
        return False
    return True
