"""What a device's owner asks of the platform: everything that it knows of the device, and to forget that."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.message import Count, Identifier, Message

PLATFORM_FORMAT = "coterie-platform-export/1"
DEVICE_FORMAT = "coterie-device-export/1"
Word = Annotated[str, Meta(max_length=100)]


class ReadExport(Message, frozen=True):
    """Ask for a page of one section of what the platform knows of the device."""

    section: Word = ""
    """Blank: which sections there are."""
    after: Word = ""
    """Where the page before ended; blank: from the beginning."""


class ExportPage(Message, frozen=True):
    """Some rows of a section, in the order in which they came to be."""

    sections: tuple[str, ...] = ()
    """All there are, where none was asked for."""
    rows: tuple[msgspec.Raw, ...] = ()
    """Each is an object by names of fields."""
    after: str = ""
    """To ask for the next page with; blank: this is the last one."""


class PlatformExport(msgspec.Struct, frozen=True):
    """All that the platform knows of one device."""

    format: str
    """``coterie-platform-export/1``; another number where a reader of this one would go wrong."""
    at: str
    """When it was put together, after ISO 8601."""
    device: str
    sections: Mapping[str, tuple[msgspec.Raw, ...]]
    """By section, its rows: objects by names of fields."""


class Forget(Message, frozen=True):
    """Leave the fleet and be forgotten; the credential ends. Asking again with the same receipt is asking once."""

    receipt: Identifier
    """A UUID that the device has drawn and keeps: with it the owner reads later what has become of it."""


class ReadReceipt(Message, frozen=True):
    """Ask how far the forgetting with this receipt is. Comes without a credential, which has ended."""

    receipt: Identifier


class HoldsUpdate(Message, frozen=True):
    """A version that was made with an update of a device that was forgotten since."""

    federation: str
    version: Count
    version_id: str
    at: str
    """When it was made, after ISO 8601."""
    in_sum: bool = False
    """The update came in a sum, from which nobody could have taken it."""


class Rebuilt(Message, frozen=True):
    """What became of a federation's models, whose plan promises to be without devices that are forgotten."""

    federation: str
    done: bool
    """No version of the federation that has its parameters still holds the device."""
    sentence: str
    """The same for the owner."""
    version: Count = 0
    """The number of the version that took their place; 0: none was needed, or there is none yet."""
    repeated: Count = 0
    """Merges that were repeated without the device; 0: rounds begin again from a version before it."""
    retired: Count = 0
    """Versions that held it and have no parameters any more."""
    elsewhere: Count = 0
    """Versions outside the federation that went on from one that holds it, and stay."""
    done_at: str = ""
    """After ISO 8601; blank: it is not done."""


class ForgetNews(Message, frozen=True):
    """How far a forgetting is, and what is known to be left."""

    receipt: str
    done: bool
    """Nothing is left to be removed."""
    sentence: str
    """The same for the owner, with what it waits for."""
    asked_at: str
    """After ISO 8601."""
    device: str
    taken_out: Count = 0
    """Updates that went into no merge any more."""
    removed: Mapping[str, int] = {}
    """Rows that were removed, by section of the export."""
    holds: tuple[HoldsUpdate, ...] = ()
    """Versions known to hold updates of the device, oldest first, the newest `LISTED` of them. Those that were made
    of them since began with what they had learned."""
    versions: Count = 0
    """How many such versions there are."""
    rebuilt: tuple[Rebuilt, ...] = ()
    """Federations whose models are made again without the device, as their plans promise."""
    done_at: str = ""
    """After ISO 8601; blank: it is not done."""


LISTED = 2000
