"""Simulations get the figures of devices and energy; of those that are done, the energy is known."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

AT_ONCE = 50


def take_energy(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    jobs = apps.get_model("cloud_training", "TrainingJob")._base_manager
    done = jobs.filter(kind="simulation", state="succeeded").exclude(found__joules_per_device=None)
    for key, found in done.values_list("pk", "found").iterator(AT_ONCE):
        jobs.filter(pk=key).update(joules_per_device=found["joules_per_device"]["middle"])


class Migration(migrations.Migration):
    dependencies = [("cloud_training", "0010_figures")]

    operations = [
        migrations.AddField("trainingjob", "device_accuracy_median", models.FloatField(blank=True, null=True)),
        migrations.AddField("trainingjob", "device_accuracy_worst_decile", models.FloatField(blank=True, null=True)),
        migrations.AddField("trainingjob", "joules_per_device", models.FloatField(blank=True, null=True)),
        migrations.RunPython(take_energy, migrations.RunPython.noop, elidable=True),
    ]
