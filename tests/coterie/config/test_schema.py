"""Tables that newer code has changed are left alone."""

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from coterie.config.schema import NewerSchema, refuse_newer

pytestmark = pytest.mark.django_db


def test_tables_of_this_code_are_taken() -> None:
    refuse_newer()


def test_a_change_that_this_code_does_not_know_is_named() -> None:
    MigrationRecorder(connection).record_applied("fleet", "0042_of_tomorrow")
    with pytest.raises(NewerSchema, match=r"fleet\.0042_of_tomorrow"):
        refuse_newer()


def test_an_app_that_is_not_there_any_more_is_no_matter() -> None:
    MigrationRecorder(connection).record_applied("removed", "0001_initial")
    refuse_newer()
