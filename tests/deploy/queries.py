"""What the shipped dashboards and alerts ask of Prometheus: names and labels of metrics, read off their queries."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SELECTOR = re.compile(r"\b((?:coterie|process)_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')
GROUPED = re.compile(r"\bby \(([^)]*)\)")
OF_PROMETHEUS = {"job", "instance"}


class Asked(NamedTuple):
    """A metric that a query names."""

    query: str
    metric: str
    labels: frozenset[str]


def queries() -> Iterator[str]:
    """Of every panel and every rule."""
    rules = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())
    for group in rules["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    dashboard = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def asked() -> Iterator[Asked]:
    """Every metric of every query, with the labels that it selects or groups by."""
    for query in queries():
        grouped = {name.strip() for found in GROUPED.findall(query) for name in found.split(",")}
        for metric, selected in SELECTOR.findall(query):
            yield Asked(query, metric, frozenset(LABEL.findall(selected)) | frozenset(grouped))
