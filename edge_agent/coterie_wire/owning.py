"""Requests of a device's owner to the platform: to export everything that it stores of the device, and to delete it."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.message import Count, Identifier, Message

PLATFORM_FORMAT = "coterie-platform-export/1"
DEVICE_FORMAT = "coterie-device-export/1"
Word = Annotated[str, Meta(max_length=100)]


class ReadExport(Message, frozen=True):
    """Ask for a page of one section of the device's data at the platform."""

    section: Word = ""
    """Name of the section; blank: ask for the names of the sections."""
    after: Word = ""
    """`ExportPage.after` of the page before; blank: from the beginning."""


class ExportPage(Message, frozen=True):
    """Rows of a section, in the order of their creation."""

    sections: tuple[str, ...] = ()
    """Names of all sections, where no section was asked for."""
    rows: tuple[msgspec.Raw, ...] = ()
    """JSON objects with the rows' fields by name."""
    after: str = ""
    """The position to ask for the next page with; blank: this is the last page."""


class PlatformExport(msgspec.Struct, frozen=True):
    """All data that the platform stores of one device."""

    format: str
    """``coterie-platform-export/1``; the number increases with each incompatible change."""
    at: str
    """Time of the export in ISO 8601."""
    device: str
    sections: Mapping[str, tuple[msgspec.Raw, ...]]
    """Rows by section; each row is a JSON object with its fields by name."""


class Forget(Message, frozen=True):
    """Leave the fleet and have the device's data deleted; the credential becomes invalid.

    Repeating it with the same receipt changes nothing.
    """

    receipt: Identifier
    """A UUID that the device has drawn and keeps, with which the owner asks for the state of the deletion later."""


class ReadReceipt(Message, frozen=True):
    """Ask for the state of the deletion with this receipt. Sent without a credential, because it is no longer valid."""

    receipt: Identifier


class HoldsUpdate(Message, frozen=True):
    """A version that was made with an update of the deleted device."""

    federation: str
    version: Count
    version_id: str
    at: str
    """When the version was made, in ISO 8601."""
    in_sum: bool = False
    """Whether the update arrived in a sum, from which it cannot be removed."""


class Rebuilt(Message, frozen=True):
    """Unlearning in a federation whose plan promises models without the updates of deleted devices."""

    federation: str
    done: bool
    """Whether all remaining versions of the federation are without the device's updates."""
    sentence: str
    """The state in a sentence for the owner."""
    version: Count = 0
    """Number of the version that replaces those with the device's updates; 0: none was needed, or there is none yet."""
    repeated: Count = 0
    """Merges that were repeated without the device; 0: rounds start again from a version before its first update."""
    retired: Count = 0
    """Versions with the device's updates whose parameters have been deleted."""
    elsewhere: Count = 0
    """Versions outside the federation that were trained from one with the device's updates; they are kept."""
    done_at: str = ""
    """When it was done, in ISO 8601; blank: it is not done."""


class ForgetNews(Message, frozen=True):
    """The state of a deletion, and what is known to remain."""

    receipt: str
    done: bool
    """Whether nothing is left to be deleted."""
    sentence: str
    """The state in a sentence for the owner, with what the deletion waits for."""
    asked_at: str
    """When it was requested, in ISO 8601."""
    device: str
    taken_out: Count = 0
    """Updates that were withdrawn before a merge."""
    removed: Mapping[str, int] = {}
    """Number of deleted rows by section of the export."""
    holds: tuple[HoldsUpdate, ...] = ()
    """Versions made with the device's updates, oldest first; the newest `LISTED` of them. Versions that were trained
    from them later are not listed, although they have learned from the same updates."""
    versions: Count = 0
    """Number of such versions, listed or not."""
    rebuilt: tuple[Rebuilt, ...] = ()
    """Federations whose models are rebuilt without the device, as their plans promise."""
    done_at: str = ""
    """When it was done, in ISO 8601; blank: it is not done."""


LISTED = 2000
"""Most versions that `ForgetNews` lists."""
