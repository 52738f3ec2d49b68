"""What the demo and the digits example have in common: the pair that is uploaded, files of samples, and the devices."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coterie.demo.api import Api
from coterie.demo.devices import DemoDevice
from coterie.demo.digits import CLASSES, Samples
from coterie.demo.export import Exported

BATCH_SIZE = 16


def enrol_all(devices: Sequence[DemoDevice], url: str, token: str) -> None:
    """Enrol devices with a token that lets so many in. Raises AgentFailed."""
    for device in devices:
        device.join(url, token)


def stop_all(fleet: Sequence[DemoDevice]) -> None:
    """Ask all to end, and wait until they have."""
    for device in fleet:
        device.stop()
    for device in fleet:
        device.wait()


def submit_digits(api: Api, name: str, files: Exported) -> str:
    """Upload the pair that reads digits; its identifier. Raises ApiFailed."""
    labels = [str(digit) for digit in range(CLASSES)]
    device, cloud = Path(files.device), Path(files.cloud)
    return api.submit_pair(name, device=device, cloud=cloud, labels=labels, batch_size=BATCH_SIZE)


def npz(path: Path, samples: Samples) -> Path:
    """`samples` as a file that the platform takes."""
    np.savez(path, x=samples.x, y=samples.y)
    return path
