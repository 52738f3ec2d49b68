"""Simulations get the few figures that lists show, also those that are done."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

AT_ONCE = 50
DRAWN = 32


def take_figures(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    jobs = apps.get_model("cloud_training", "TrainingJob")._base_manager
    done = jobs.filter(kind="simulation", state="succeeded", accuracy=None).exclude(found__rounds=None)
    for key, found in done.values_list("pk", "found").iterator(AT_ONCE):
        rounds = [one["accuracy"]["middle"] for one in found["rounds"]]
        if len(rounds) > DRAWN:
            rounds = [rounds[place * (len(rounds) - 1) // (DRAWN - 1)] for place in range(DRAWN)]
        jobs.filter(pk=key).update(
            accuracy=found["accuracy"]["middle"],
            accuracies=rounds,
            bytes_per_device=found["bytes_per_device"]["middle"],
        )


class Migration(migrations.Migration):
    dependencies = [("cloud_training", "0009_launcher")]

    operations = [
        migrations.AddField("trainingjob", "accuracies", models.JSONField(blank=True, null=True)),
        migrations.AddField("trainingjob", "accuracy", models.FloatField(blank=True, null=True)),
        migrations.AddField("trainingjob", "asked_by", models.CharField(blank=True, db_default="", max_length=150)),
        migrations.AddField("trainingjob", "bytes_per_device", models.FloatField(blank=True, null=True)),
        migrations.RunPython(take_figures, migrations.RunPython.noop, elidable=True),
    ]
