"""The launcher of the workers of a training that this host leads, where that is the scheduler of another cluster."""

from pathlib import Path

from django.conf import settings

from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.launch.follow import gang_for
from coterie.cloud.launch.gang import Gang, Launcher
from coterie.cloud.launch.kubernetes import Kubernetes
from coterie.cloud.launch.slurm import Slurm
from coterie.cloud_training.checkpoints import checkpoints_of
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie_wire.structs import from_values

DIRECTORY = "launch"
"""Name of a gang's directory within its job's."""


def configured_launcher() -> Launcher | None:
    """The configured launcher; None: this host starts workers itself, with other hosts where it names an address."""
    match settings.CLUSTER_LAUNCHER:
        case "kubernetes":
            return Kubernetes(settings.CLUSTER_IMAGE, settings.CLUSTER_CLAIM, str(settings.CLUSTER_SHARED))
        case "slurm":
            return Slurm(settings.CLUSTER_PYTHON, settings.CLUSTER_SBATCH)
    return None


def gang_of(job: TrainingJob, arguments: BootstrapArguments) -> Gang:
    """The same for each attempt of a job, so that the next one ends the leftovers of a platform that was killed."""
    on_gpus = from_values(job.options, TrainingOptions).device == "gpus"
    directory = Path(checkpoints_of(job.pk), DIRECTORY)
    return gang_for(arguments, name=f"coterie-{job.pk.hex[:20]}", directory=directory, on_gpus=on_gpus)
