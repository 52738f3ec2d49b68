from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("merging", "0009_supernodes")]

    operations = [
        migrations.AddField("update", "offered_at", models.DateTimeField(blank=True, null=True)),
    ]
