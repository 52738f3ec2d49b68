"""Names and notes of pairs and versions, and which of them are archived."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from coterie.audit.recording import audited
from coterie.core.given import save_given
from coterie.core.names import checked_name
from coterie.registry.errors import PairStillUsed, StillInUse
from coterie.registry.models import Alias, Description, ModelPair, ModelVersion


@audited("registry.describe_pair", subject="pair")
def describe_pair(*, pair: ModelPair, name: str | None = None, notes: str | None = None) -> None:
    """Change a pair's name or notes; None: unchanged. Its slug stays. Raises BadName."""
    save_given(pair, name=None if name is None else checked_name(name), notes=notes)


@audited("registry.archive_pair", subject="pair")
def archive_pair(*, pair: ModelPair, now: datetime) -> None:
    """Archive a pair, whose federations, if any, must be archived. Raises PairStillUsed."""
    ModelPair.objects.select_for_update(no_key=True).get(pk=pair.pk)
    federation = pair.federations.filter(archived_at=None).first()
    if federation is not None:
        raise PairStillUsed(pair=pair.slug, federation=federation.slug)
    pair.set_archived(now)


@audited("registry.restore_pair", subject="pair")
def restore_pair(*, pair: ModelPair) -> None:
    """Have lists show an archived pair again."""
    pair.set_archived(None)


def _description(arguments: Mapping[str, object]) -> Description | None:
    return Description.objects.filter(version=cast(ModelVersion, arguments["version"])).first()


@audited("registry.describe_version", subject=_description)
def describe_version(*, version: ModelVersion, name: str | None = None, notes: str | None = None) -> Description:
    """Change a version's name or notes; None: unchanged. Raises BadName."""
    description, _ = Description.objects.get_or_create(version=version)
    save_given(description, name=None if name is None else checked_name(name), notes=notes)
    return description


@audited("registry.archive_version", subject=_description)
def archive_version(*, version: ModelVersion, now: datetime) -> Description:
    """Archive a version that is not in use; its descendants stay. Raises StillInUse."""
    ModelPair.objects.select_for_update(no_key=True).get(pk=version.pair_id)
    if Alias.objects.filter(version=version, name=Alias.Name.CHAMPION).exists():
        raise StillInUse(version=str(version))
    description, _ = Description.objects.get_or_create(version=version)
    description.set_archived(now)
    return description


@audited("registry.restore_version", subject=_description)
def restore_version(*, version: ModelVersion) -> Description:
    """Have lists show an archived version again."""
    description, _ = Description.objects.get_or_create(version=version)
    description.set_archived(None)
    return description
