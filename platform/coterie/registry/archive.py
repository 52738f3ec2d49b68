"""One version of a model as a ZIP file, for people and programs that are not devices."""

import shutil
import tempfile
import zipfile
from contextlib import ExitStack
from datetime import datetime
from typing import BinaryIO, cast

from coterie.registry.errors import VersionRemoved
from coterie.registry.models import ModelVersion, Role
from coterie.registry.selectors import signed_manifest
from coterie.registry.verifying import open_blob
from coterie_wire.bundle import Manifest
from coterie_wire.structs import from_json

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The modification time of every member, so that the same version gives the same file."""


def archive(version: ModelVersion, *, now: datetime) -> BinaryIO:
    """The archive as a temporary file, open at its start, which is deleted when it is closed.

    It holds ``parameters.safetensors``; where it has server state, ``server-state.safetensors``; of a device
    model also its two graphs, what is frozen in it, its variants (``int8.onnx``), and ``manifest.json``.

    Raises VersionRemoved or BlobDamaged.
    """
    if version.parameters.removed_at is not None:
        raise VersionRemoved(version=str(version.pk))
    with ExitStack() as unless_done:
        file = cast(BinaryIO, unless_done.enter_context(tempfile.TemporaryFile(prefix="coterie-archive-")))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as target:
            _add_blob(target, now, "parameters.safetensors", version.parameters_id)
            if version.server_state_id is not None:
                _add_blob(target, now, "server-state.safetensors", version.server_state_id)
            if version.role == Role.DEVICE:
                encoded = signed_manifest(version.pk).manifest
                manifest = from_json(encoded, Manifest)
                _add_blob(target, now, "train_step.onnx", manifest.train_step.sha256)
                _add_blob(target, now, "predict.onnx", manifest.predict.sha256)
                if manifest.frozen is not None:
                    _add_blob(target, now, "frozen.safetensors", manifest.frozen.sha256)
                for variant in version.variants.filter(graph__isnull=False):
                    _add_blob(target, now, f"{variant.name}.onnx", str(variant.graph_id))
                target.writestr(zipfile.ZipInfo("manifest.json", EARLIEST), encoded)
        file.seek(0)
        unless_done.pop_all()  # from here on the caller closes it
        return file


def _add_blob(target: zipfile.ZipFile, now: datetime, name: str, sha256: str) -> None:
    member = zipfile.ZipInfo(name, EARLIEST)
    with open_blob(sha256, now=now) as source, target.open(member, "w", force_zip64=True) as written:
        shutil.copyfileobj(source, written)
