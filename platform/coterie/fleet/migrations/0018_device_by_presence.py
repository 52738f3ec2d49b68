from django.db import migrations, models

from coterie.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("fleet", "0017_presence")]

    operations = [
        AddIndexBeside(
            model_name="device",
            index=models.Index(fields=["tracked", "last_seen_at"], name="device_by_presence"),
        ),
        migrations.RemoveIndex(model_name="device", name="device_by_last_seen"),
    ]
