"""Nothing leaves a device that the table of what leaves does not name."""

from coterie_wire.leaving import LEAVES
from tests.contract.leaving_page import FILES, fields_sent


def test_every_field_that_devices_send_is_named_and_no_other() -> None:
    assert set(fields_sent()) == LEAVES.keys() - set(FILES)


def test_the_messages_of_figures_are_among_them() -> None:
    """Else the test above could hold of nothing."""
    assert {"OfferUpdate.loss_after", "DataMetadata.class_counts", "Fit.loss", "Box.content"} <= set(fields_sent())
