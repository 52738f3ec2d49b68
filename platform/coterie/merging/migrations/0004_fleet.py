from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("merging", "0003_postponed")]

    operations = [
        migrations.AddField(
            model_name="merge", name="fleet", field=models.PositiveIntegerField(blank=True, null=True)
        ),
    ]
