"""Versions that were rolled back are remembered, so that devices hear of them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0007_dataset_inputs")]

    operations = [
        migrations.CreateModel(
            "Withdrawal",
            [
                (
                    "version",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="withdrawal",
                        serialize=False,
                        to="registry.modelversion",
                    ),
                ),
                ("withdrawn_at", models.DateTimeField()),
            ],
            options={"ordering": ["-withdrawn_at"]},
        ),
    ]
