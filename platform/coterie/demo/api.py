"""The demo as a client of the REST API, like any other program."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self, TypeVar

import httpx
import msgspec

from coterie.demo.view import DeviceRow, HelpRow, RoundRow, View
from coterie_wire.structs import from_json

T = TypeVar("T")
PAGE = 500
POLL_S = 0.25


class ApiFailed(Exception):
    """The platform refused something; the message is its own."""


class Job(msgspec.Struct, frozen=True):
    """A training job."""

    kind: str
    state: str
    progress: float
    progress_sentence: str
    error_sentence: str


class Pair(msgspec.Struct, frozen=True):
    """A model pair."""

    id: str
    state: str
    reason_sentence: str
    device_champion: str | None


class Version(msgspec.Struct, frozen=True):
    """A model version."""

    id: str


class Federation(msgspec.Struct, frozen=True):
    """A federation."""

    id: str
    state: str


class AlliancePartyRow(msgspec.Struct, frozen=True):
    """One device in an alliance."""

    role: str
    sent_bytes: int


class AllianceRow(msgspec.Struct, frozen=True):
    """Two devices that train one network together."""

    state: str
    reason_sentence: str
    common: int
    epoch: int
    accuracy: float | None
    parties: tuple[AlliancePartyRow, ...]


class _Created(msgspec.Struct, frozen=True):
    id: str


class _Called(msgspec.Struct, frozen=True):
    id: str
    slug: str
    state: str


class _Secret(msgspec.Struct, frozen=True):
    secret: str


class _Page(msgspec.Struct, frozen=True):
    results: msgspec.Raw


def token_of(url: str, *, operator: str, password: str) -> str:
    """A new API token of an operator. Raises ApiFailed."""
    answer = httpx.post(f"{url}/api/tokens/", json={"name": "demo"}, auth=(operator, password), timeout=30.0)
    return _decode(answer, _Secret).secret


class Api:
    """What one API token may do; every method raises ApiFailed."""

    def __init__(self, url: str, *, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=f"{url}/api/", timeout=30.0, headers=headers)
        self._over: dict[int, RoundRow] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def add_dataset(self, name: str, path: Path) -> str:
        """Upload an .npz; its identifier."""
        return _decode(self._http.post("datasets/", data={"name": name}, files={"file": _file(path)}), _Created).id

    def submit_pair(
        self,
        name: str,
        *,
        device: Path,
        cloud: Path,
        labels: Sequence[str],
        batch_size: int,
        recipe: Mapping[str, object] | None = None,
    ) -> str:
        """Upload two programs, and how the device model is trained, if not as a classifier; the pair's identifier."""
        how = {} if recipe is None else {"recipe": msgspec.json.encode(recipe).decode()}
        answer = self._http.post(
            "pairs/",
            data={"name": name, "labels": list(labels), "batch_size": str(batch_size), **how},
            files={"device": _file(device), "cloud": _file(cloud)},
        )
        return _decode(answer, _Created).id

    def pair_called(self, slug: str) -> str | None:
        """The identifier of a pair that was not rejected; None: there is none."""
        return self._called(self._list("pairs/", _Called, search=slug), slug)

    def federation_called(self, slug: str) -> str | None:
        """A federation's identifier; None: there is none."""
        return self._called(self._list("federations/", _Called, search=slug), slug)

    def _called(self, found: Sequence["_Called"], slug: str) -> str | None:
        return next((one.id for one in found if one.slug == slug and one.state != "rejected"), None)

    def pair(self, pair: str) -> Pair:
        """A pair as it stands."""
        return self._get(f"pairs/{pair}/", Pair)

    def bootstrap(self, pair: str, *, dataset: str, **options: float) -> None:
        """Have the cloud model trained, and the first device model distilled from it."""
        _decode(self._http.post(f"pairs/{pair}/bootstrap/", json={"dataset": dataset, **options}), msgspec.Raw)

    def wait_for_jobs(
        self, pair: str, *, until: Callable[[Pair], bool], tell: Callable[[str], None] = lambda _: None
    ) -> Pair:
        """Follow the pair's jobs until `until` holds of it; raises ApiFailed also when one fails."""
        while not until(found := self.pair(pair)):
            jobs = self._list("jobs/", Job, pair=pair)
            if found.state == "rejected":
                raise ApiFailed(f"the pair was rejected: {found.reason_sentence}")
            for job in jobs:
                if job.state == "failed":
                    raise ApiFailed(f"{job.kind} failed: {job.error_sentence}")
                if job.state == "running":
                    tell(f"{job.kind}: {job.progress_sentence or 'starting'} ({job.progress:.0%})")
            time.sleep(POLL_S)
        return found

    def enrolment_token(self, *, uses: int, tag: str) -> str:
        """A secret with which `uses` devices may join, which carry `tag` then."""
        expires_at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        answer = self._http.post(
            "enrolment-tokens/", json={"label": "demo", "tags": [tag], "uses_allowed": uses, "expires_at": expires_at}
        )
        return _decode(answer, _Secret).secret

    def use_uploaded_weights(self, pair: str) -> None:
        """Begin the device model with the weights that were uploaded."""
        body = {"models": ["device"]}
        _decode(self._http.post(f"pairs/{pair}/uploaded-weights/", json=body), msgspec.Raw)

    def begin_alliance(self, **given: object) -> str:
        """An alliance that waits for both owners; its identifier."""
        return _decode(self._http.post("alliances/", json=given), _Created).id

    def alliance(self, alliance: str) -> AllianceRow:
        """How it stands."""
        return self._get(f"alliances/{alliance}/", AllianceRow)

    def create_federation(self, **given: object) -> str:
        """A federation that waits to be started; its identifier."""
        return _decode(self._http.post("federations/", json=given), _Created).id

    def start_federation(self, federation: str) -> None:
        """Hold rounds."""
        _decode(self._http.post(f"federations/{federation}/start/"), msgspec.Raw)

    def first_version(self, pair: str) -> str:
        """The bootstrap version of the pair's device model."""
        return self._list("versions/", Version, pair=pair, role="device")[-1].id

    def newest_version(self, pair: str) -> str:
        """The version of the pair's device model that was made last."""
        return self._list("versions/", Version, pair=pair, role="device")[0].id

    def help_requests(self, federation: str) -> list[HelpRow]:
        """Oldest first."""
        return self._list("help-requests/", HelpRow, federation=federation)[::-1]

    def archive(self, version: str) -> bytes:
        """A version as a ZIP file."""
        answer = self._http.get(f"versions/{version}/archive/")
        _check(answer)
        return answer.content

    def view(self, federation: str, *, tag: str) -> View:
        """What is going on among the devices that carry `tag`."""
        finished = self._get(f"federations/{federation}/", Federation).state == "finished"  # before its last round
        devices = self._list("devices/", DeviceRow, state="enrolled", tag=tag)
        rounds = [
            self._over.get(row.id) or self._get(f"rounds/{row.id}/", RoundRow)
            for row in self._list("rounds/", RoundRow, federation=federation)
        ]
        self._over |= {row.id: row for row in rounds if row.is_over}
        return View(
            devices=sorted(devices, key=lambda device: device.name),
            rounds=sorted(rounds, key=lambda row: row.number),
            is_finished=finished,
        )

    def _get(self, path: str, kind: type[T]) -> T:
        return _decode(self._http.get(path), kind)

    def _list(self, path: str, kind: type[T], **query: str) -> list[T]:
        try:
            answer = self._http.get(path, params={**query, "page_size": PAGE})
        except httpx.TransportError as error:
            raise ApiFailed(f"GET {path}: {error}") from error
        page = _decode(answer, _Page)
        return from_json(page.results, list[kind])  # type: ignore[valid-type] # a type made at run time


def _file(path: Path) -> tuple[str, bytes]:
    return path.name, path.read_bytes()


def _decode(answer: httpx.Response, kind: type[T]) -> T:
    _check(answer)
    return from_json(answer.content, kind)


def _check(answer: httpx.Response) -> None:
    if answer.is_error:
        problem: Mapping[str, object] = answer.json()
        raise ApiFailed(
            f"{answer.request.method} {answer.request.url.path}: {problem.get('detail')} [{problem.get('code')}]"
        )
