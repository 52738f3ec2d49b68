import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rounds", "0004_fill_base_versions")]
    operations = [
        migrations.AlterField(
            model_name="assignment",
            name="base_version",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.modelversion"
            ),
        ),
    ]
