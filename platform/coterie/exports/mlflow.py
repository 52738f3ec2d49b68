"""Rounds as metrics of a run for each federation, and versions as model versions, by MLflow's REST API 2.0.

Its client is not used: it installs 200 MB for six calls. A run and a version are found again by their tags, and a
metric that is sent twice is one, since name, step, time and value are the same.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import httpx
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from coterie.exports.errors import NotTaken
from coterie.exports.interface import RoundFact, VersionFact

EXPERIMENT = "coterie"
FEDERATION, VERSION = "coterie.federation", "coterie.version"
TIMEOUT_S = 10.0
METRICS_AT_ONCE = 1000
"""What MLflow takes in one call."""
Body = dict[str, Any]  # Any: JSON of another program, of which a few fields are read


class Mlflow:
    """A tracking server."""

    def __init__(self, url: str, *, token: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=f"{url.rstrip('/')}/api/2.0/mlflow/", headers=headers, timeout=TIMEOUT_S)

    def export(self, rounds: Sequence[RoundFact]) -> None:
        """Log them. Raises NotTaken."""
        try:
            experiment = self._experiment()
            for _, facts in groupby(sorted(rounds, key=lambda fact: fact.federation), lambda fact: fact.federation):
                of_federation = list(facts)
                run = self._run(experiment, of_federation[0])
                self._log(run, of_federation)
                for fact in of_federation:
                    if fact.version is not None:
                        self._register(run, fact.version)
        except (httpx.HTTPError, KeyError, ValueError) as error:
            raise NotTaken(exporter="mlflow", why=f"{type(error).__name__}: {error}") from error

    def _experiment(self) -> str:
        found = self._http.get("experiments/get-by-name", params={"experiment_name": EXPERIMENT})
        if found.status_code == 404:
            return str(self._post("experiments/create", {"name": EXPERIMENT})["experiment_id"])
        return str(_checked(found)["experiment"]["experiment_id"])

    def _run(self, experiment: str, fact: RoundFact) -> str:
        wanted = {"experiment_ids": [experiment], "filter": f"tags.`{FEDERATION}` = '{fact.federation}'"}
        found = self._post("runs/search", {**wanted, "max_results": 1}).get("runs")
        if found:
            return str(found[0]["info"]["run_id"])
        made = self._post(
            "runs/create",
            {
                "experiment_id": experiment,
                "run_name": fact.slug,
                "start_time": _ms(fact),
                "tags": _tags({FEDERATION: fact.federation}),
            },
        )
        return str(made["run"]["info"]["run_id"])

    def _log(self, run: str, rounds: Sequence[RoundFact]) -> None:
        metrics = [
            {"key": name, "value": value, "timestamp": _ms(fact), "step": fact.number}
            for fact in rounds
            for name, value in sorted(fact.figures.items())
        ]
        for start in range(0, len(metrics), METRICS_AT_ONCE):
            self._post("runs/log-batch", {"run_id": run, "metrics": metrics[start : start + METRICS_AT_ONCE]})

    def _register(self, run: str, version: VersionFact) -> None:
        name = f"{version.pair}.{version.role}" + (f".{version.lineage}" if version.lineage else "")
        made = self._http.post("registered-models/create", json={"name": name})
        if made.status_code != 400 or made.json().get("error_code") != "RESOURCE_ALREADY_EXISTS":
            _checked(made)
        asked = {"filter": f"name = '{name}' AND tags.`{VERSION}` = '{version.id}'"}
        if _checked(self._http.get("model-versions/search", params=asked)).get("model_versions"):
            return
        tags = {VERSION: version.id, "coterie.number": str(version.number), "coterie.sha256": version.sha256}
        body = {"name": name, "source": f"coterie://versions/{version.id}", "run_id": run, "tags": _tags(tags)}
        self._post("model-versions/create", body)

    def _post(self, path: str, body: Mapping[str, object]) -> Body:
        return _checked(self._http.post(path, json=body))


def exporter() -> Mlflow:
    """That of the settings. Raises ImproperlyConfigured."""
    if not settings.MLFLOW_URL:
        raise ImproperlyConfigured("COTERIE_EXPORTERS: mlflow needs COTERIE_MLFLOW_URL, as http://mlflow:5000")
    return Mlflow(settings.MLFLOW_URL, token=settings.MLFLOW_TOKEN)


def _checked(answer: httpx.Response) -> Body:
    if answer.is_error:
        raise httpx.HTTPStatusError(answer.text[:200], request=answer.request, response=answer)
    body: Body = answer.json()
    return body


def _ms(fact: RoundFact) -> int:
    return int(fact.finished_at.timestamp() * 1000)


def _tags(tags: Mapping[str, str]) -> list[Mapping[str, str]]:
    return [{"key": key, "value": value} for key, value in tags.items()]
