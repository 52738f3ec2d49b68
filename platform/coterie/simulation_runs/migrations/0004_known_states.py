"""The states that a run may have, with the one that has come."""

from django.db import migrations, models

from coterie.core.migrating import AddConstraintBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("simulation_runs", "0003_cancelled_and_figures")]

    operations = [
        AddConstraintBeside(
            "simulationrun",
            models.CheckConstraint(
                condition=models.Q(state__in=["queued", "running", "succeeded", "failed", "cancelled"]),
                name="run_state_is_known",
            ),
        ),
    ]
