"""An operator's program: the REST API over HTTP."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.system.eventually import eventually

# Any: the tests read a few fields of JSON answers whose whole shape the OpenAPI schema describes.
Json = dict[str, Any]


class OperatorClient:
    """Requests with a token; a read waits for a platform that is just being started again, or lacks a server."""

    def __init__(self, url: str, token: str, *, ca_file: Path | None = None) -> None:
        """`ca_file`: whom an https platform is trusted by; None: the system's authorities."""
        headers = {"Authorization": f"Bearer {token}"}
        verify = True if ca_file is None else ssl.create_default_context(cafile=str(ca_file))
        self.http = httpx.Client(base_url=f"{url}/api", headers=headers, timeout=30, verify=verify)

    def get(self, path: str, **query: str | int) -> Json:
        """One object."""

        def look() -> Json | None:
            try:
                answer = self.http.get(path, params=query)
            except httpx.TransportError:
                return None
            if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                return None
            assert answer.status_code == 200, answer.text
            found: Json = answer.json()
            return found

        return eventually(look)

    def list(self, path: str, **query: str | int) -> list[Json]:
        """The first page of many."""
        results: list[Json] = self.get(path, **query)["results"]
        return results

    def post(self, path: str, body: Json | None = None) -> Json:
        """Make or do something."""
        answer = self.http.post(path, json=body or {})
        assert answer.status_code in (200, 201), answer.text
        made: Json = answer.json()
        return made

    def patch(self, path: str, body: Json) -> Json:
        """Change something."""
        answer = self.http.patch(path, json=body)
        assert answer.status_code == 200, answer.text
        changed: Json = answer.json()
        return changed

    def enrolment_token(self, *, tag: str = "", also: Sequence[str] = (), uses: int = 1) -> str:
        """The secret of a new token, for devices with `tag` and those of `also`."""
        expires_at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        tags = [*([tag] if tag else []), *also]
        body = {"label": "system tests", "uses_allowed": uses, "expires_at": expires_at, "tags": tags}
        secret: str = self.post("/enrolment-tokens/", body)["secret"]
        return secret

    def start_federation(self, name: str, *, pair: str, plan: Json, **more: object) -> str:
        """A running federation of the devices that are tagged with its name; its id."""
        body = {"name": name, "pair": pair, "plan": plan, "device_tag": name, "tolerance": 1.0, **more}
        federation: str = self.post("/federations/", body)["id"]
        self.post(f"/federations/{federation}/start/")
        return federation

    def round(self, federation: str, number: int) -> Json | None:
        """The federation's round of that number; None before it is planned."""
        rounds = self.list("/rounds/", federation=federation)
        found = [round_ for round_ in rounds if round_["number"] == number]
        assert len(found) <= 1
        return self.get(f"/rounds/{found[0]['id']}/") if found else None

    def ended_round(self, federation: str, number: int, *, within_s: float = 60) -> Json:
        """The round, once it is published or abandoned."""

        def look() -> Json | None:
            round_ = self.round(federation, number)
            return round_ if round_ and round_["state"] in ("published", "abandoned") else None

        return eventually(look, within_s=within_s)

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
