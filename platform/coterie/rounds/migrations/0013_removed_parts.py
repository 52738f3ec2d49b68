from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("merging", "0010_folded_assignments"), ("rounds", "0012_parts_in_vain")]

    operations = [
        migrations.AddField("round", "removed_parts", models.PositiveIntegerField(db_default=0, default=0)),
    ]
