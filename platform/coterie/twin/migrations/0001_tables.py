import coterie.core.migrating
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('twin', '0001_initial'),
        ('twin', '0002_forecasts_by_age'),
    ]

    initial = True

    dependencies = [
        ('rounds', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Forecast',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('round', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='forecast', to='rounds.round')),
                        ('made_at', models.DateTimeField()),
                        ('history', models.PositiveIntegerField()),
                        ('duration_low_s', models.FloatField()),
                        ('duration_s', models.FloatField()),
                        ('duration_high_s', models.FloatField()),
                        ('lost_low', models.FloatField()),
                        ('lost', models.FloatField()),
                        ('lost_high', models.FloatField()),
                        ('up_bytes_low', models.FloatField()),
                        ('up_bytes', models.FloatField()),
                        ('up_bytes_high', models.FloatField()),
                        ('compared_at', models.DateTimeField(blank=True, null=True)),
                        ('happened_duration_s', models.FloatField(blank=True, null=True)),
                        ('happened_lost', models.FloatField(blank=True, null=True)),
                        ('happened_up_bytes', models.FloatField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-round'],
                        'indexes': [models.Index(condition=models.Q(('compared_at', None)), fields=['compared_at'], name='forecast_to_compare'), models.Index(condition=models.Q(('compared_at__isnull', False)), fields=['compared_at'], name='forecast_by_age')],
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('compared_at', None), ('happened_duration_s', None), ('happened_lost', None), ('happened_up_bytes', None)), models.Q(('compared_at__isnull', False), ('happened_duration_s__isnull', False), ('happened_lost__isnull', False), ('happened_up_bytes__isnull', False)), _connector='OR'), name='compared_forecast_is_complete')],
                    },
                ),
            ],
        ),
    ]
