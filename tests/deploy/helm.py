"""Has Helm itself render the chart: ``build/helm/bin/python tests/deploy/helm.py CHART NAME REVISION``.

Runs in an environment of its own (`make check-chart`), whose packages the platform does not need. Reads values, JSON in
a line each, and prints a line of JSON for each: what Helm rendered or why it refused, what its linter says, and what
does not fit Kubernetes' schemas.
"""

import json
import sys

import helm_python as helm
import kubernetes_validate
import yaml

WARNING = 2
"""Helm's severity; below are hints."""
NOT_KUBERNETES = {"PodMonitor"}
"""Kinds that operators bring, of which Kubernetes has no schema."""
KUBERNETES = "1.31"


def main(chart: str, name: str, revision: int) -> None:
    loaded = helm.Chart.load(chart)
    for line in sys.stdin:
        values = json.loads(line)
        try:
            loaded.validate_schema(values)
            texts = loaded.render(values, name=name, namespace="default", revision=revision, is_install=True)
        except helm.HelmError as error:
            answer = {"refused": str(error)}
        else:
            objects = [one for text in texts.values() for one in yaml.safe_load_all(text) if one]
            lint = helm.lint(chart, values, strict=True, namespace="default")
            told = [message["error"] for message in lint["messages"] if message["severity"] >= WARNING]
            answer = {"objects": objects, "lint": [*told, *lint["errors"]], "unfit": [*map(unfit, objects)]}
        sys.stdout.write(json.dumps(answer) + "\n")


def unfit(one: dict[str, object]) -> str:
    """What Kubernetes would refuse of an object; blank: nothing."""
    if one["kind"] in NOT_KUBERNETES:
        return ""
    try:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{one['kind']}: {error.message}"
    return ""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
