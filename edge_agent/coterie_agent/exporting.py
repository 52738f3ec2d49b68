"""All that is known of this device, here and at the platform, as one JSON document without secrets and samples."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from coterie_agent.config import Config
from coterie_agent.home import Home
from coterie_agent.link.http import HttpLink
from coterie_agent.report import Report, make_report
from coterie_agent.store.agreements import Agreement
from coterie_agent.store.contents import StoreTable
from coterie_agent.store.journal import SentOnDay
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import Helped
from coterie_agent.store.work import Finished
from coterie_wire.owning import DEVICE_FORMAT, PLATFORM_FORMAT, ExportPage, PlatformExport, ReadExport


class Folder(msgspec.Struct, frozen=True):
    """A folder of the agent's home."""

    name: str
    files: int
    bytes: int


class DeviceExport(msgspec.Struct, frozen=True):
    """What the agent keeps of the device, and what the platform knows of it."""

    format: str
    """``coterie-device-export/1``; another number where a reader of this one would go wrong."""
    at: str
    """When it was put together, after ISO 8601."""
    platform_key: str
    """Ed25519 public key that the device pinned when it joined, in hexadecimal."""
    settings: Config
    """The owner's."""
    report: Report
    """Who the device is, what it does, and why it does not train now."""
    agreed: tuple[Agreement, ...]
    """What its owner has agreed to, edition by edition as he read it, oldest first."""
    sent: tuple[SentOnDay, ...]
    """Everything that left it, by day and kind."""
    finished: tuple[Finished, ...]
    """How the latest assignments ended, newest first."""
    helped: tuple[Helped, ...]
    """Whom it helped, and how its own requests ended."""
    stored: tuple[StoreTable, ...]
    """What its store keeps, in rows and bytes: samples among them, which the owner has."""
    folders: tuple[Folder, ...]
    """Downloads, portions, and what neighbours have left with it."""
    platform: PlatformExport | None
    """None: it was not asked."""


def export_device(home: Home, store: Store, config: Config, *, link: HttpLink | None) -> DeviceExport:
    """The document; `link` leads to the platform, None: leave its part out.

    Raises AgentError ``agent.not_joined``, Unreachable or Refused.
    """
    identity = store.identity.get()
    platform = None if link is None else read_platform(link, identity.device)  # first: what is sent counts it
    return DeviceExport(
        format=DEVICE_FORMAT,
        at=datetime.now(UTC).isoformat(),
        platform_key=identity.platform_key.hex(),
        settings=config,
        report=make_report(home, store),
        agreed=store.agreements.editions(),
        sent=store.journal.sent_by_day(),
        finished=store.work.outcomes(),
        helped=store.peers.outcomes(),
        stored=store.contents.tables(),
        folders=tuple(_folder(path) for path in (home.blobs, home.portions, home.variants, home.relay)),
        platform=platform,
    )


def read_platform(link: HttpLink, device: str) -> PlatformExport:
    """What the platform knows, page by page. Raises Unreachable or Refused."""
    names = link.call(ReadExport(), ExportPage).sections
    sections: Mapping[str, tuple[msgspec.Raw, ...]] = {name: read_section(link, name) for name in names}
    return PlatformExport(format=PLATFORM_FORMAT, at=datetime.now(UTC).isoformat(), device=device, sections=sections)


def read_section(link: HttpLink, name: str) -> tuple[msgspec.Raw, ...]:
    """All rows of one section. Raises Unreachable or Refused."""
    page = link.call(ReadExport(section=name), ExportPage)
    rows = [row.copy() for row in page.rows]
    while page.after:
        page = link.call(ReadExport(section=name, after=page.after), ExportPage)
        rows += [row.copy() for row in page.rows]
    return tuple(rows)


def _folder(path: Path) -> Folder:
    sizes = [found.stat().st_size for found in path.rglob("*") if found.is_file()]
    return Folder(path.name, len(sizes), sum(sizes))
