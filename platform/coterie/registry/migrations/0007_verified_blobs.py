"""When each blob was last found sound, and which are damaged."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("registry", "0006_lineages_of_federations")]

    operations = [
        migrations.AddField(
            model_name="blob", name="verified_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            model_name="blob", name="damaged_at", field=models.DateTimeField(blank=True, null=True)
        ),
    ]
