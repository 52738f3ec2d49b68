"""A federation, as a script or a notebook sees it."""

import sys
from collections.abc import Mapping

import msgspec
from torch import nn

from coterie.offline.progress import ProgressLine
from coterie.sdk.downloading import download
from coterie.sdk.following import follow
from coterie.sdk.records import Dataset, PlanForecast, Role, Round
from coterie.sdk.rest import Rest
from coterie.sdk.state_dict import StateDict
from coterie.sdk.table import Row, Table


class FederationRecord(msgspec.Struct, frozen=True):
    """The platform's record of a federation."""

    id: str
    name: str
    pair: str
    state: str
    members: int
    lineage: str = ""
    """Of its versions; blank: the pair's."""


class _Planned(msgspec.Struct, frozen=True):
    plan: dict[str, object]


class _Previewed(msgspec.Struct, frozen=True):
    notes: list[str]


class _Forecasts(msgspec.Struct, frozen=True):
    forecasts: list[PlanForecast]


class Federation:
    """Every method raises Refused or Unreachable."""

    def __init__(self, rest: Rest, record: FederationRecord) -> None:
        self._rest = rest
        self._record = record

    @property
    def id(self) -> str:
        """Its identifier."""
        return self._record.id

    @property
    def state(self) -> str:
        """``draft``, ``running``, ``paused`` or ``finished``; requested at each access."""
        return self._rest.get(f"federations/{self.id}/", FederationRecord).state

    def notes(self) -> list[str]:
        """What keeps it from holding rounds, or lets them be few or far apart, as sentences; empty: nothing."""
        plan = self._rest.get(f"federations/{self.id}/", _Planned).plan
        return self._rest.post(f"federations/{self.id}/plan-preview/", _Previewed, {"plan": plan}).notes

    def start(self, *, progress: bool = True) -> None:
        """Start holding rounds. Unless `progress` is False, print its `notes` first."""
        if progress:
            sys.stderr.writelines(f"{note}\n" for note in self.notes())
        self._move("start")

    def pause(self) -> None:
        """Open no further round until it is started again."""
        self._move("pause")

    def finish(self) -> None:
        """Open no further round, for good."""
        self._move("finish")

    def rounds(self) -> list[Round]:
        """The newest 500, the first one first."""
        return self._rest.page("rounds/", Round, federation=self.id, sort="number")

    def metrics(self) -> Table:
        """A row for each of the newest 500 rounds: its number, state and reason, and every figure of its version.

        ``accuracy`` is that on the held-out data, ``accuracy_before`` the version's before it.
        """
        return Table.of([row_of(round_) for round_ in self.rounds()], without_rows="No round has been planned yet.")

    def try_plan(
        self,
        plan: Mapping[str, object] | None = None,
        *,
        dataset: Dataset | None = None,
        scenario: str | None = None,
        split: str = "dirichlet:0.5",
        each: int | None = None,
        fleet: str | None = None,
        devices: int | None = None,
        rounds: int = 20,
        days: float = 14.0,
        drift: str | None = None,
        seed: int = 0,
        progress: bool = True,
    ) -> PlanForecast:
        """Try a `plan` (None: its own) on a simulated fleet before it meets the real one, and wait for the forecast.

        Devices have the samples of `dataset`, divided as `split` says or `each` drawing so many, or those of a shipped
        `scenario`. `fleet` is a shipped profile; None: this federation's, from its past, or a profile where that is too
        short. With a `drift` samples come over the `days` (``steady``, ``introduced:0.3``), as plans need whose devices
        help each other or train by themselves. Where devices and cloud teach each other, that begins with the
        federation's cloud model and cloud data. Nothing of the federation changes. Raises JobFailed. Interrupted, the
        job goes on: `forecasts` has it.
        """
        body: dict[str, object] = {
            "dataset": None if dataset is None else dataset.id,
            "scenario": scenario,
            "split": split,
            "each": each,
            "profile": fleet,
            "devices": devices,
            "rounds": rounds,
            "days": days,
            "drift": drift,
            "seed": seed,
        }
        if plan is not None:
            body["plan"] = dict(plan)
        with ProgressLine.wanted(progress) as line:
            asked = self._rest.post(f"federations/{self.id}/plan-forecasts/", PlanForecast, body).job
            follow(self._rest, asked, line)
        return next(one for one in self.forecasts() if one.job.id == asked.id)

    def forecasts(self) -> list[PlanForecast]:
        """The newest ten plans that were tried, beside the rounds that then happened; the newest first."""
        return self._rest.get(f"federations/{self.id}/plan-forecasts/", _Forecasts).forecasts

    def download(self, module: nn.Module, *, role: Role = "device") -> StateDict:
        """The version in use as a state dict: ``module.load_state_dict(federation.download(module))`` takes all of it.

        `module` is built as the one that was published; it is left alone. It predicts then as devices do. Raises
        OtherModule or NoVersion.
        """
        return download(self._rest, pair=self._record.pair, lineage=self._record.lineage, role=role, module=module)

    def adopt(self) -> None:
        """Make its own versions the pair's, e.g. those of the winner of an A/B trial."""
        self._move("adopt")

    def wait_for_round(self, number: int = 1, *, progress: bool = True) -> Round:
        """Round `number`, once it is published or abandoned; until then the line says what it waits for."""
        with ProgressLine.wanted(progress) as line:
            while True:
                found = next((one for one in self.rounds() if one.number == number), None)
                line.show(str(found) if found else f"round {number} is not planned yet")
                if found is not None and found.is_over:
                    return found
                self._rest.pause()

    def _move(self, action: str) -> None:
        self._record = self._rest.post(f"federations/{self.id}/{action}/", FederationRecord, {})


def row_of(round_: Round) -> Row:
    """A round as a row of a table; figures of several numbers, as those by class, are left out."""
    figures = {
        name: value
        for name, value in (round_.metrics or {}).items()
        if isinstance(value, (int, float, str)) or value is None
    }
    return {"round": round_.number, "state": round_.state, "reason": round_.reason_sentence or None, **figures}
