"""Runs may be cancelled, and have the figures of devices and energy."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("simulation_runs", "0002_figures")]

    operations = [
        migrations.AddField(
            "simulationrun", "device_accuracy_median", models.FloatField(blank=True, null=True)
        ),
        migrations.AddField(
            "simulationrun", "device_accuracy_worst_decile", models.FloatField(blank=True, null=True)
        ),
        migrations.AddField("simulationrun", "joules_per_device", models.FloatField(blank=True, null=True)),
        migrations.AlterField(
            "simulationrun",
            "state",
            models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("succeeded", "Succeeded"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                default="queued",
                max_length=10,
            ),
        ),
        migrations.RemoveConstraint("simulationrun", "run_state_known"),
    ]
