from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("rounds", "0014_parts_to_fold")]

    operations = [
        AddIndexBeside(
            model_name="round",
            index=models.Index(
                condition=models.Q(("state__in", ["published", "abandoned"])),
                fields=["finished_at", "id"],
                name="ended_round",
            ),
        ),
    ]
