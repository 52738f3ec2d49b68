"""What an older platform kept of rounds stays when it goes to a newer one."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from coterie.merging.models import Merge, Update
from coterie.rounds.models import Assignment, Round
from tests.coterie.world import START, make_device, make_federation, make_pair, make_version

OLD = [("rounds", "0001_initial")]
FACTS = {
    "sha256": "a" * 64,
    "size_bytes": 9,
    "samples": 20,
    "steps_done": 5,
    "steps_total": 5,
    "loss_before": 1.5,
    "loss_after": 1.0,
    "train_s": 0.1,
    "received_at": START,
}


@pytest.fixture
def old_apps():
    """The models as they were, over a database as it was; afterwards it is as it is."""
    MigrationExecutor(connection).migrate(OLD)
    yield MigrationExecutor(connection).loader.project_state(OLD).apps
    go_to_newest()


def go_to_newest() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_merges_and_updates_move_to_rows_of_their_own(old_apps) -> None:
    pair = make_pair()
    base, result = make_version(pair), make_version(pair, seed=1)
    federation = make_federation(pair)
    device = make_device("device")
    held = {
        "federation_id": federation.pk,
        "opens_at": START,
        "deadline_at": START + timedelta(hours=1),
        "closed_at": START,
        "reason_at": START,
        "plan": federation.plan,
        "seed": 1,
        "base_version_id": base.pk,
    }
    rounds, assignments = old_apps.get_model("rounds", "Round"), old_apps.get_model("rounds", "Assignment")
    published = rounds.objects.create(
        **held, number=1, state="published", finished_at=START, result_version_id=result.pk, metrics={"updates": 1}
    )
    rounds.objects.create(**held, number=2, state="abandoned", finished_at=START, reason_code="rounds.too_few")
    rounds.objects.create(**held, number=3, state="merging", merge_attempts=2, reason_code="rounds.merging")
    part = assignments.objects.create(
        round=published, device_id=device.pk, base_version_id=base.pk, state="delivered", seed=1,
        offered_at=START, changed_at=START,
    )  # fmt: skip
    old_apps.get_model("rounds", "Update").objects.create(assignment=part, **FACTS)
    go_to_newest()
    first, second, third = Round.objects.order_by("number")
    assert (first.result_version, first.metrics) == (result, {"updates": 1})
    assert (first.updates_in, second.updates_in) == (1, 0)
    assert second.merge is None
    assert third.merge is not None and (third.merge.state, third.merge.attempts) == ("running", 2)
    assert Merge.objects.count() == 2
    update = Update.objects.get()
    assert (update.pk, update.device, update.base_version, update.cohort) == (part.pk, device, base, first.pk)
    assert Assignment.objects.get().update == update
    assert update.merge == first.merge
