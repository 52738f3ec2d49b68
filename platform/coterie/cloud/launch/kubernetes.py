"""Launcher `kubernetes`: an Indexed Job with a headless service, by which its pods find the first.

A Job's pods are scheduled one by one. The first ones wait three minutes for the others, then all end and the gang is
tried again; a cluster in which gangs compete needs a gang scheduler such as Kueue or Volcano.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from coterie.cloud.launch.gang import WALL_S, Gang, GangStatus, run_command
from coterie_wire.structs import from_json

PORT = 29_500
LABEL = "coterie.gang"
GPUS = "nvidia.com/gpu"
"""The resource under which NVIDIA's device plugin offers them."""
USER = 10_001
"""User of the platform's image."""


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str
    message: str = ""


class _Status(msgspec.Struct, frozen=True):
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    conditions: tuple[_Condition, ...] = ()


class _Job(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class Kubernetes(NamedTuple):
    """By ``kubectl``, in the namespace of its context."""

    image: str
    """The platform's, with PyTorch."""
    claim: str
    """A persistent volume claim of access mode ReadWriteMany: the shared directory."""
    root: str
    """The path of the shared directory; a gang sees only its own job's subdirectory."""
    kind: str = "kubernetes"

    def start(self, gang: Gang) -> None:
        """Apply its manifests."""
        given = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": self.manifests(gang)})
        run_command(self.kind, ["kubectl", "apply", "-f", "-"], given=given.decode())

    def poll(self, gang: Gang) -> GangStatus:
        """The status of its Job."""
        command = ["kubectl", "get", "job", gang.name, "--ignore-not-found", "-o", "json"]
        found = run_command(self.kind, command)
        if not found.strip():
            return GangStatus("over", "its Job is gone")
        status = from_json(found.encode(), _Job).status
        for condition in status.conditions:
            if condition.status == "True" and condition.type in ("Complete", "Failed"):
                return GangStatus("over", condition.message or condition.type)
        if status.ready + status.succeeded < gang.processes:
            return GangStatus("waits", f"{status.ready + status.succeeded} of {gang.processes} pods are ready")
        return GangStatus("runs")

    def stop(self, gang: Gang) -> None:
        """Delete everything with its label, and wait until pods are gone."""
        selected = ["-l", f"{LABEL}={gang.name}", "--ignore-not-found", "--cascade=foreground", "--wait=true"]
        run_command(self.kind, ["kubectl", "delete", "job,service", *selected])

    def manifests(self, gang: Gang) -> list[Mapping[str, object]]:
        """Its service and its Job. A pod's name begins with the Job's and its number, and is its address."""
        labels = {LABEL: gang.name, "app.kubernetes.io/name": "coterie", "app.kubernetes.io/component": "gang"}
        metadata = {"name": gang.name, "labels": labels}
        command = ["python", "-m", "coterie.cloud.launch.rank", str(gang.directory)]
        job_directory = gang.directory.parent
        pod: dict[str, object] = {
            "subdomain": gang.name,
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "worker",
                    "image": self.image,
                    "command": [*command, "$(JOB_COMPLETION_INDEX)", f"{gang.name}-0.{gang.name}", str(PORT)],
                    "resources": {
                        "requests": {"cpu": str(gang.cores_each)},
                        **({"limits": {GPUS: str(gang.gpus_each)}} if gang.gpus_each else {}),
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {
                            "name": "shared",
                            "mountPath": str(job_directory),
                            "subPath": str(job_directory.relative_to(self.root)),
                        },
                        {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - of the pod alone
                    ],
                }
            ],
            "volumes": [
                {"name": "shared", "persistentVolumeClaim": {"claimName": self.claim}},
                {"name": "scratch", "emptyDir": {}},
            ],
        }
        service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {LABEL: gang.name}}
        job = {
            "completionMode": "Indexed",
            "completions": gang.processes,
            "parallelism": gang.processes,
            # One that dies ends the others with it, and the platform restarts all of them from the last checkpoint.
            "backoffLimit": 0,
            "activeDeadlineSeconds": WALL_S,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        return [
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service},
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job},
        ]
