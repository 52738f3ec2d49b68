from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("rounds", "0011_missed_supernodes")]

    operations = [
        AddIndexBeside(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state__in", ["released", "dropped", "rejected"])),
                fields=["changed_at"],
                name="part_in_vain",
            ),
        ),
    ]
