import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('simulation_runs', '0001_initial'),
        ('simulation_runs', '0002_figures'),
        ('simulation_runs', '0003_cancelled_and_figures'),
        ('simulation_runs', '0004_known_states'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
        ('registry', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='SimulatedFleet',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('file', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('pair_name', models.CharField(blank=True, db_default='', max_length=150)),
                        ('data_name', models.CharField(blank=True, db_default='', max_length=150)),
                        ('devices', models.PositiveIntegerField(blank=True, null=True)),
                        ('created_at', models.DateTimeField()),
                        ('used_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-created_at'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'file'), name='a_fleet_is_kept_once_in_a_project')],
                    },
                ),
                migrations.CreateModel(
                    name='SimulationRun',
                    fields=[
                        ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                        ('lease_until', models.DateTimeField(blank=True, null=True)),
                        ('attempts', models.PositiveIntegerField(default=0)),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('asked_by', models.CharField(blank=True, db_default='', max_length=150)),
                        ('accuracy', models.FloatField(blank=True, null=True)),
                        ('accuracies', models.JSONField(blank=True, null=True)),
                        ('device_accuracy_median', models.FloatField(blank=True, null=True)),
                        ('device_accuracy_worst_decile', models.FloatField(blank=True, null=True)),
                        ('bytes_per_device', models.FloatField(blank=True, null=True)),
                        ('joules_per_device', models.FloatField(blank=True, null=True)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('fleet', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='simulation_runs.simulatedfleet')),
                        ('key', models.CharField(max_length=64)),
                        ('wanted', models.JSONField()),
                        ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                        ('progress', models.FloatField(default=0.0)),
                        ('left_s', models.FloatField(blank=True, null=True)),
                        ('outcome', models.TextField(blank=True)),
                        ('created_at', models.DateTimeField()),
                        ('hinted_at', models.DateTimeField()),
                        ('started_at', models.DateTimeField(blank=True, null=True)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['created_at', 'id'],
                        'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['created_at', 'id'], name='active_run')],
                        'constraints': [models.UniqueConstraint(fields=('fleet', 'key'), name='a_run_is_asked_for_once'), models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='run_state_is_known'), models.CheckConstraint(condition=models.Q(('progress__gte', 0), ('progress__lte', 1)), name='run_progress_is_a_share'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'succeeded'), models.Q(('outcome', ''), _negated=True)), models.Q(models.Q(('state', 'succeeded'), _negated=True), ('outcome', '')), _connector='OR'), name='run_that_succeeded_has_an_outcome')],
                    },
                ),
            ],
        ),
    ]
