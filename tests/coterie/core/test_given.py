"""Two operators who change different columns of one row at once both have their way."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import models
from pytest_django.fixtures import Settings

from coterie.accounts.custom_roles import change_custom_role, create_custom_role
from coterie.accounts.models import Organisation
from coterie.accounts.projects import change_organisation
from coterie.alerts.models import Channel
from coterie.alerts.services import change_channel, create_channel
from coterie.federations.services import change_terms, describe_federation
from coterie.fleet.services import change_device
from coterie.registry.describing import describe_pair
from coterie.webhooks.models import Event
from coterie.webhooks.services import change_webhook, create_webhook
from tests.coterie.world import START, make_device, make_federation, make_pair

pytestmark = pytest.mark.django_db
URL, OTHER = "https://198.51.100.7/hook", "https://198.51.100.7/other"
Change = Callable[..., Any]


def _assert_both_hold(row: models.Model, change: Change, first: dict[str, object], second: dict[str, object]) -> None:
    """Though each was made on the row as it was before either."""
    one, other = (type(row)._base_manager.get(pk=row.pk) for _ in range(2))
    change(one, **first)
    change(other, **second)
    after, kept = first | second, type(row)._base_manager.get(pk=row.pk)
    assert {name: getattr(kept, name) for name in after} == after


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda: make_device("kitchen"), lambda row, **given: change_device(device=row, **given)),
        (lambda: make_pair(), lambda row, **given: describe_pair(pair=row, **given)),
        (lambda: make_federation(make_pair()), lambda row, **given: describe_federation(federation=row, **given)),
    ],
    ids=["device", "pair", "federation"],
)
def test_a_name_and_notes(make: Callable[[], models.Model], change: Change) -> None:
    _assert_both_hold(make(), change, {"name": "hall"}, {"notes": "since May"})


def test_terms_of_a_federation() -> None:
    row = make_federation(make_pair())
    _assert_both_hold(
        row, lambda row, **given: change_terms(federation=row, **given), {"tolerance": 0.5}, {"attempts": 9}
    )


def test_a_webhook_and_a_channel(settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ("198.51.100.7",)
    webhook, _ = create_webhook(name="ci", url=URL, events=[Event.JOB_FAILED], now=START)
    _assert_both_hold(
        webhook, lambda row, **given: change_webhook(webhook=row, **given), {"url": OTHER}, {"is_active": False}
    )
    channel = create_channel(name="on call", kind=Channel.Kind.WEBHOOK, url=URL, now=START).channel
    _assert_both_hold(
        channel,
        lambda row, **given: change_channel(channel=row, given=given),
        {"url": OTHER},
        {"time_zone": "Asia/Tokyo"},
    )
    place = Channel.objects.get().place
    change_channel(channel=channel, given={"url": OTHER})
    assert Channel.objects.get().place == place, "it is known by the URL that it has"


def test_a_custom_role_and_an_organisation() -> None:
    organisation = Organisation.objects.get()
    role = create_custom_role(organisation=organisation, name="caretaker", actions=["fleet.pause_device"], now=START)
    actions = ["fleet.resume_device"]
    _assert_both_hold(
        role, lambda row, **given: change_custom_role(role=row, **given), {"actions": actions}, {"name": "porter"}
    )
    Organisation.objects.create(name="Other", created_at=START).projects.create(name="Other", created_at=START)
    stale = Organisation.objects.get(pk=organisation.pk)
    change_organisation(organisation=organisation, archived=True, now=START)
    change_organisation(organisation=stale, name="Clinic", now=START)
    organisation.refresh_from_db()
    assert (organisation.name, organisation.archived_at) == ("Clinic", START)
