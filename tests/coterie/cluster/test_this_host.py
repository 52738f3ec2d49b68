"""What this machine says of itself as a host that trains."""

from pathlib import Path

import pytest
import torch

from coterie.cluster.models import Host
from coterie.cluster.this_host import Presence, count_gpus
from tests.system.eventually import eventually


def test_gpus_that_trainings_cannot_use_count_as_none_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert count_gpus(tmp_path) == 0 and not caplog.records, "nothing is tried where no driver is"
    (tmp_path / "nvidia0").touch()
    assert count_gpus(tmp_path) == torch.cuda.device_count()
    if torch.cuda.device_count() == 0:
        (record,) = caplog.records
        told = record.getMessage()
        words = "Torch not compiled with CUDA enabled" if torch.version.cuda is None else "GPU"
        assert told.count(words) >= 2, "of a confined child and of one that is not"
        assert f"PyTorch {torch.__version__}" in told
        assert "A child that is not confined cannot either" in told


@pytest.mark.django_db(transaction=True)
def test_this_machine_says_that_it_is_there() -> None:
    presence = Presence()
    presence.begin()
    eventually(lambda: Host.objects.exists(), within_s=10)
    presence.end()
    host = Host.objects.get()
    assert host.places >= 2 and host.cores >= 1 and host.queue == f"train.{host.name}"
