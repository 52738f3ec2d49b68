"""When gangs first came to wait: those that are there have come by now, in the order in which they wait."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0002_gpus_of_gangs'),
    ]

    operations = [
        migrations.AddField(
            model_name='gang',
            name='came',
            field=models.DateTimeField(db_default=Now()),
        ),
    ]
