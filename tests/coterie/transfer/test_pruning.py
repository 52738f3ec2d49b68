"""Old requests for help go where they brought no portion; the receipts of those who helped stay."""

from datetime import timedelta

import pytest

from coterie.core.pruning import prune
from coterie.owners.receipts import receipts_of
from coterie.transfer.models import HelpRequest, Transfer
from tests.coterie.transfer.peers import Member, make_peers
from tests.coterie.world import START, later

pytestmark = pytest.mark.django_db
YEAR_LATER = START + timedelta(days=366)


def test_what_brought_a_portion_stays_and_the_rest_goes() -> None:
    federation = make_peers()
    helper, asks, lonely, waits = (Member(name) for name in ("helper", "asks", "lonely", "waits"))
    shared = {"federation": federation, "plan": {}, "plan_digest": "", "classes": [2], "profile": {}, "due_at": START}
    told = {"changed_at": START, "asked_at": START}
    requests = {
        member.name: HelpRequest.objects.create(
            id=number, device=member.row, state=state, finished_at=ended, **shared, **told
        )
        for number, (member, state, ended) in enumerate(
            [(asks, "abandoned", later(9)), (lonely, "unmatched", later(9)), (waits, "asked", None)], start=1
        )
    }
    for name, delivered in (("asks", later(5)), ("lonely", None)):
        Transfer.objects.create(
            request=requests[name],
            helper=helper.row,
            state=Transfer.State.EXPIRED,
            divergence=0.1,
            matched_at=START,
            delivered_at=delivered,
            due_at=later(9),
        )
    before = receipts_of(helper.row)  # type: ignore[arg-type]
    assert len(before) == 1
    prune(now=START + timedelta(days=300))
    assert HelpRequest.objects.count() == 3
    prune(now=YEAR_LATER)
    assert set(HelpRequest.objects.values_list("device__name", flat=True)) == {"asks", "waits"}
    assert Transfer.objects.count() == 1
    assert receipts_of(helper.row) == before  # type: ignore[arg-type]
