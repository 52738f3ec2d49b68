import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('fleet_evaluation', '0001_initial'),
    ]

    initial = True

    dependencies = [
        ('federations', '0001_tables'),
        ('fleet', '0001_tables'),
        ('registry', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Evaluation',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='federations.federation')),
                        ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='evaluations', to='registry.modelversion')),
                        ('tag', models.CharField(blank=True, max_length=100)),
                        ('devices_wanted', models.PositiveIntegerField()),
                        ('reports_needed', models.PositiveIntegerField()),
                        ('within_s', models.PositiveIntegerField()),
                        ('state', models.CharField(choices=[('planned', 'Planned'), ('measuring', 'Measuring'), ('finished', 'Finished'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='planned', max_length=12)),
                        ('created_at', models.DateTimeField()),
                        ('begun_at', models.DateTimeField(blank=True, null=True)),
                        ('due_at', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('figures', models.JSONField(blank=True, default=dict)),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'measuring', 'finished', 'failed', 'cancelled'])), name='evaluation_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'measuring'), _negated=True), ('begun_at__isnull', False), _connector='OR'), name='measuring_evaluation_has_begun'), models.CheckConstraint(condition=models.Q(('reports_needed__gte', 1), ('devices_wanted__gte', models.F('reports_needed'))), name='evaluation_asks_enough')],
                    },
                ),
                migrations.CreateModel(
                    name='Part',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('evaluation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='fleet_evaluation.evaluation')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluation_parts', to='fleet.device')),
                        ('reported_at', models.DateTimeField(blank=True, null=True)),
                        ('samples', models.PositiveBigIntegerField(blank=True, null=True)),
                        ('loss', models.FloatField(blank=True, null=True)),
                        ('accuracy', models.FloatField(blank=True, null=True)),
                        ('fault_code', models.CharField(blank=True, max_length=64)),
                        ('fault_sentence', models.CharField(blank=True, max_length=400)),
                    ],
                    options={
                        'ordering': ['evaluation', 'id'],
                        'indexes': [models.Index(condition=models.Q(('reported_at', None)), fields=['device'], name='open_part_of_device')],
                        'constraints': [models.UniqueConstraint(fields=('evaluation', 'device'), name='device_once_an_evaluation')],
                    },
                ),
            ],
        ),
    ]
