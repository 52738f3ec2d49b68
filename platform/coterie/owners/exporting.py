"""All that the platform stores about a device: one JSON document for operators, pages of it for the device itself."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from django.core.exceptions import ValidationError

from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.models import Device
from coterie.owners.receipts import Receipt, receipts_of
from coterie.owners.sections import ROWS_AT_ONCE, SECTIONS, Row
from coterie_wire.owning import PLATFORM_FORMAT, ExportPage, PlatformExport

RECEIPTS = "receipts"
NAMES = (*(section.name for section in SECTIONS), RECEIPTS)
PAGE_BYTES = 256 << 10
"""Most bytes of a page's rows, far below the largest message that is accepted; a single row may be larger."""


class UnknownSection(CoterieError):
    """Fields: section."""

    code = "owners.unknown_section"
    kind = ErrorKind.NOT_FOUND
    sentence = "The export has no section {section!r} that goes on there; ask for a blank one to get their names."


def export_of(device: Device, *, now: datetime) -> PlatformExport:
    """The whole document."""
    sections = {section.name: tuple(map(_raw, section.rows(device))) for section in SECTIONS}
    sections[RECEIPTS] = tuple(map(_raw, receipts_of(device)))
    return PlatformExport(format=PLATFORM_FORMAT, at=now.isoformat(), device=str(device.pk), sections=sections)


def page_of(device: Device, *, section: str, after: str) -> ExportPage:
    """Some rows of a section. Raises UnknownSection."""
    if not section:
        return ExportPage(sections=NAMES)
    try:
        found = _keyed(device, section, after)
    except (ValidationError, ValueError) as error:
        raise UnknownSection(section=section) from error
    rows: list[msgspec.Raw] = []
    size_bytes = 0
    for _, row in found:
        rows.append(_raw(row))
        size_bytes += len(bytes(rows[-1]))
        if size_bytes > PAGE_BYTES:
            break
    is_last = len(rows) == len(found) < ROWS_AT_ONCE
    return ExportPage(rows=tuple(rows), after="" if is_last else found[len(rows) - 1][0])


def _keyed(device: Device, name: str, after: str) -> Sequence[tuple[str, Row | Receipt]]:
    """Rows after the one with key `after`, as many as a page has at most, each with its key."""
    if name == RECEIPTS:
        begin = int(after or 0)
        receipts = receipts_of(device)[begin : begin + ROWS_AT_ONCE]
        return [(str(place), receipt) for place, receipt in enumerate(receipts, start=begin + 1)]
    section = next((section for section in SECTIONS if section.name == name), None)
    if section is None:
        raise ValueError(name)
    return section.page(device, after=after)


def _raw(row: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(row))
