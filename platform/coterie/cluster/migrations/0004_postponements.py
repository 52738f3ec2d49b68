"""How often gangs have waited for what they lacked."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cluster', '0003_when_gangs_first_came'),
    ]

    operations = [
        migrations.AddField(
            model_name='gang',
            name='postponements',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
