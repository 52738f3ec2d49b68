"""A data set may have several inputs; what was a shape and a dtype is the one called x."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def name_the_input(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Of every data set that is there."""
    for dataset in apps.get_model("registry", "Dataset").objects.all():
        dataset.inputs = [{"name": "x", "dtype": dataset.feature_dtype, "shape": dataset.feature_shape}]
        dataset.save(update_fields=["inputs"])


class Migration(migrations.Migration):
    dependencies = [("registry", "0006_loss_program")]

    operations = [
        migrations.AddField("dataset", "inputs", models.JSONField(default=list), preserve_default=False),
        migrations.RunPython(name_the_input, elidable=True),
        migrations.RemoveField("dataset", "feature_shape"),
        migrations.RemoveField("dataset", "feature_dtype"),
    ]
