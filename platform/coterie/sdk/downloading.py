"""Versions as state dicts, from a platform."""

import tempfile
from pathlib import Path

from torch import nn

from coterie.sdk.errors import NoVersion
from coterie.sdk.records import Pair, Role, Version
from coterie.sdk.rest import Rest
from coterie.sdk.state_dict import StateDict, read_version, state_dict


def download(rest: Rest, *, pair: str, lineage: str, role: Role, module: nn.Module, version: str = "") -> StateDict:
    """Version `version`, or the one in use in a lineage of a pair, for `module`.

    Raises OtherModule, NoVersion, Refused or Unreachable.
    """
    record = rest.get(f"pairs/{pair}/", Pair)
    version = version or _in_use(rest, record, lineage, role)
    with tempfile.NamedTemporaryFile(prefix="coterie-version-", suffix=".zip") as file:
        rest.download(f"versions/{version}/archive/", file)
        file.flush()
        tensors = read_version(Path(file.name))
    return state_dict(module, tensors, record.recipe if role == "device" else {})


def _in_use(rest: Rest, pair: Pair, lineage: str, role: Role) -> str:
    if not lineage:
        found = pair.device_champion if role == "device" else pair.cloud_champion
    else:
        versions = rest.page("versions/", Version, pair=pair.id, role=role, lineage=lineage, sort="-created_at")
        found = next((one.id for one in versions if one.champion), None)
    if found is None:
        raise NoVersion(f"The {role} model of {pair.name}")
    return found
