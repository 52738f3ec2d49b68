"""Pages, searches and counts of a fleet's devices read no rows but those that they show."""

from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside, RemoveIndexBeside

NOT_ARCHIVED = models.Q(("archived_at", None))
STANDING = ("state", "present_until", "blocked_by", "paused_at", "pinned_version", "quarantine")


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("fleet", "0002_excluded_devices"),
    ]

    operations = [
        RemoveIndexBeside(model_name="device", name="device_by_status"),
        AddIndexBeside(
            model_name="device",
            index=models.Index(fields=[*STANDING, "name", "id"], name="device_by_status"),
        ),
        RemoveIndexBeside(model_name="device", name="device_by_tags"),
        AddIndexBeside(
            model_name="device",
            index=models.Index(condition=NOT_ARCHIVED, fields=["tags", "archived_at"], name="device_by_tags"),
        ),
        RemoveIndexBeside(model_name="device", name="device_not_archived"),
        AddIndexBeside(
            model_name="device",
            index=models.Index(
                condition=NOT_ARCHIVED, fields=["name", "id", "archived_at"], name="device_not_archived"
            ),
        ),
        AddIndexBeside(
            model_name="device",
            index=models.Index(
                condition=NOT_ARCHIVED, fields=["-tracked", "-last_seen_at", "id"], name="device_by_last_seen"
            ),
        ),
        RemoveIndexBeside(model_name="device", name="device_by_enrolment"),
        AddIndexBeside(
            model_name="device",
            index=models.Index(condition=NOT_ARCHIVED, fields=["enrolled_at", "id"], name="device_by_enrolment"),
        ),
        RemoveIndexBeside(model_name="device", name="device_by_train_step"),
        AddIndexBeside(
            model_name="device",
            index=models.Index(condition=NOT_ARCHIVED, fields=["train_step_s", "id"], name="device_by_train_step"),
        ),
        RemoveIndexBeside(model_name="device", name="device_by_version"),
        AddIndexBeside(
            model_name="device",
            index=models.Index(fields=["state", "held_version", "project", "tags"], name="device_by_version"),
        ),
    ]
