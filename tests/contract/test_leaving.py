"""Nothing leaves a device that the table of what leaves does not name."""

import typing

from coterie_agent.link.http import UploadKind
from coterie_wire.leaving import LEAVES
from coterie_wire.messages import EXCHANGES
from coterie_wire.sent_fields import FILES_SENT, disclosures_in
from tests.contract.leaving_page import FILES, fields_sent


def test_every_field_that_devices_send_is_named_and_no_other() -> None:
    assert set(fields_sent()) == LEAVES.keys() - set(FILES)


def test_the_messages_of_figures_are_among_them() -> None:
    """Else the test above could hold of nothing."""
    assert {"OfferUpdate.loss_after", "DataMetadata.class_counts", "Fit.loss", "Box.content"} <= set(fields_sent())


def test_whatever_an_owner_is_shown_as_sent_tells_what_is_in_it() -> None:
    for what in (*FILES_SENT, *typing.get_args(UploadKind)):
        assert disclosures_in(what), what
    assert all(
        bool(disclosures_in(name)) == bool(exchange.request.__struct_fields__) for name, exchange in EXCHANGES.items()
    )
    # An answer goes as a masked vector.
    assert {name for names in FILES_SENT.values() for name in names} == {*FILES} - {"answer"}
