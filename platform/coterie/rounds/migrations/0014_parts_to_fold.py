from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("rounds", "0013_removed_parts")]

    operations = [
        AddIndexBeside(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(
                    ("state", "delivered"),
                    ("taken_by__isnull", False),
                    ("teacher", None),
                    ("update__isnull", False),
                ),
                fields=["changed_at"],
                name="part_to_fold",
            ),
        ),
    ]
