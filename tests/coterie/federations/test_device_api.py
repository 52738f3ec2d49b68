from datetime import timedelta

import pytest
from django.utils import timezone

from coterie.core.errors import CoterieError
from coterie.federations.device_api import read_invitation
from coterie.federations.models import Federation
from coterie.fleet.models import EnrolmentToken
from coterie.fleet.services import create_enrolment_token, enrol_device, revoke_enrolment_token
from coterie_wire.invitation import ReadInvitation
from coterie_wire.messages import Capabilities
from tests.coterie.world import make_federation, make_pair

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def issue(*, tags: tuple[str, ...] = (), uses: int = 1) -> tuple[EnrolmentToken, str]:
    now = timezone.now()
    return create_enrolment_token(label="t", tags=tags, uses_allowed=uses, expires_at=now + HOUR, now=now)


def test_it_tells_of_the_federations_that_the_device_would_belong_to() -> None:
    pair = make_pair()
    federation = make_federation(pair)
    federation.device_tag = "hall"
    federation.save(update_fields=["device_tag"])
    _, secret = issue(tags=("hall",), uses=3)
    now = timezone.now()
    told = read_invitation(ReadInvitation(secret), "", now)
    assert [(one.name, list(one.labels), one.privacy) for one in told.learned] == [
        (federation.name, pair.labels, "none")
    ]
    assert told.learned[0].requirements.charging is federation.plan["requirements"]["charging"]
    assert told.devices_left == 3
    assert 0 < told.expires_s <= HOUR.total_seconds()
    _, elsewhere = issue(tags=("cellar",))
    assert read_invitation(ReadInvitation(elsewhere), "", now).learned == ()


def test_it_tells_whether_devices_help_each_other() -> None:
    now = timezone.now()
    federation = make_federation(make_pair())
    _, secret = issue()
    assert [one.help for one in read_invitation(ReadInvitation(secret), "", now).learned] == ["none"]
    federation.plan = {**federation.plan, "help": {"kind": "cartel"}}
    federation.save(update_fields=["plan"])
    assert [one.help for one in read_invitation(ReadInvitation(secret), "", now).learned] == ["cartel"]


def test_it_tells_of_those_that_go_on_and_of_no_others() -> None:
    federation = make_federation(make_pair())
    _, secret = issue()
    for state in Federation.State:
        federation.state = state
        federation.save(update_fields=["state"])
        told = read_invitation(ReadInvitation(secret), "", timezone.now()).learned
        assert len(told) == (state in (Federation.State.RUNNING, Federation.State.PAUSED)), state


def test_reading_uses_nothing_up_and_a_token_that_is_says_so() -> None:
    token, secret = issue()
    now = timezone.now()

    def code_at(when_) -> str:
        with pytest.raises(CoterieError) as caught:
            read_invitation(ReadInvitation(secret), "", when_)
        return caught.value.code

    for _ in range(2):
        assert read_invitation(ReadInvitation(secret), "", now).devices_left == 1
    assert code_at(now + HOUR) == "fleet.token_expired"
    capabilities = Capabilities(cores=1, memory_bytes=0, machine="m", agent="a")
    enrol_device(secret=secret, name="kiosk", capabilities=capabilities, now=now)
    assert code_at(now) == "fleet.token_used_up"
    revoke_enrolment_token(token=token, now=now)
    assert code_at(now) == "fleet.token_revoked"
    secret = "coe_guessed"
    assert code_at(now) == "fleet.token_unknown"
