"""Moves what rounds kept of merges and updates to where merges have rows of their own.

A migration by itself: PostgreSQL does not alter a table whose rows the same transaction has changed.
"""

from django.db import migrations

FACTS = (
    'sha256',
    'size_bytes',
    'samples',
    'steps_done',
    'steps_total',
    'loss_before',
    'loss_after',
    'accuracy_before',
    'train_s',
    'classes',
    'train_memory_bytes',
    'received_at',
    'cloud_accuracy',
    'kept',
)
STATES = {'merging': 'running', 'published': 'published', 'abandoned': 'abandoned'}


def move(apps, _editor):
    Round, Merge = apps.get_model('rounds', 'Round'), apps.get_model('merging', 'Merge')
    for round_ in Round.objects.filter(state__in=STATES, closed_at__isnull=False).iterator():
        if round_.state == 'abandoned' and not round_.metrics:
            continue  # too few updates came, or its merge left nothing to keep
        merge = Merge.objects.create(
            federation_id=round_.federation_id,
            number=round_.number,
            state=STATES[round_.state],
            reason_code=round_.reason_code,
            reason_sentence=round_.reason_sentence,
            reason_at=round_.reason_at,
            plan=round_.plan,
            seed=round_.seed,
            base_version_id=round_.base_version_id,
            result_version_id=round_.result_version_id,
            metrics=round_.metrics,
            attempts=round_.merge_attempts,
            asked_at=round_.closed_at,
            finished_at=round_.finished_at,
        )
        Round.objects.filter(pk=round_.pk).update(merge=merge)
    Assignment, Old, New = (
        apps.get_model('rounds', 'Assignment'),
        apps.get_model('rounds', 'Update'),
        apps.get_model('merging', 'Update'),
    )
    for old in Old.objects.select_related('assignment__round').iterator():
        assignment = old.assignment
        new = New.objects.create(
            id=assignment.pk,
            federation_id=assignment.round.federation_id,
            device_id=assignment.device_id,
            base_version_id=assignment.base_version_id,
            cohort=assignment.round_id,
            merge_id=assignment.round.merge_id,
            **{name: getattr(old, name) for name in FACTS},
        )
        Assignment.objects.filter(pk=assignment.pk).update(update=new)


class Migration(migrations.Migration):

    dependencies = [
        ('rounds', '0002_merge_of_a_round'),
    ]

    operations = [
        migrations.RunPython(move, migrations.RunPython.noop, elidable=True),
    ]
