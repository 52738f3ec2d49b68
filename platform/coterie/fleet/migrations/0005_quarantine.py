"""Devices that merges have distrusted too often rest, with the reason."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("fleet", "0004_lacks")]

    operations = [
        migrations.AddField(
            model_name="device", name="quarantine", field=models.TextField(blank=True, default=""), preserve_default=False
        ),
        migrations.AddField(
            model_name="device", name="trusted_since", field=models.DateTimeField(blank=True, null=True)
        ),
    ]
