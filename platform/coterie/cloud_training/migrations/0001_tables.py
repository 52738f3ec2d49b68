import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('cloud_training', '0001_initial'),
        ('cloud_training', '0002_reason_and_attempts'),
        ('cloud_training', '0003_unconfined'),
        ('cloud_training', '0004_strategy_and_curve'),
        ('cloud_training', '0005_variants'),
        ('cloud_training', '0006_placement'),
        ('cloud_training', '0007_simulations'),
        ('cloud_training', '0008_rehearsed'),
        ('cloud_training', '0009_launcher'),
        ('cloud_training', '0010_figures'),
        ('cloud_training', '0011_figures_of_devices'),
    ]

    initial = True

    dependencies = [
        ('federations', '0001_tables'),
        ('registry', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='TrainingJob',
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
                        ('kind', models.CharField(choices=[('preflight', 'Preflight'), ('bootstrap', 'Bootstrap'), ('distill', 'Distill'), ('quantise', 'Quantise'), ('simulation', 'Simulation')], max_length=10)),
                        ('pair', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='registry.modelpair')),
                        ('dataset', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.dataset')),
                        ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='registry.modelversion')),
                        ('federation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='simulations', to='federations.federation')),
                        ('fleet', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('options', models.JSONField(blank=True, default=dict)),
                        ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                        ('progress', models.FloatField(default=0.0)),
                        ('progress_sentence', models.CharField(blank=True, max_length=200)),
                        ('left_s', models.FloatField(blank=True, null=True)),
                        ('found', models.JSONField(blank=True, null=True)),
                        ('unconfined', models.CharField(blank=True, max_length=200)),
                        ('curve', models.JSONField(blank=True, default=list)),
                        ('advanced_in', models.PositiveIntegerField(default=0)),
                        ('launcher', models.CharField(blank=True, max_length=20)),
                        ('launcher_state', models.CharField(blank=True, max_length=10)),
                        ('launcher_sentence', models.CharField(blank=True, max_length=200)),
                        ('rehearsed', models.BooleanField(default=False)),
                        ('placement', models.PositiveIntegerField(default=0)),
                        ('created_at', models.DateTimeField()),
                        ('started_at', models.DateTimeField(blank=True, null=True)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-created_at'],
                        'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['state'], name='active_job')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running']), models.Q(('kind', 'simulation'), _negated=True)), fields=('pair',), name='one_active_job_a_pair'), models.UniqueConstraint(condition=models.Q(('kind', 'simulation'), ('state__in', ['queued', 'running'])), fields=('federation',), name='one_active_simulation_a_federation'), models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='job_state_known'), models.CheckConstraint(condition=models.Q(('kind__in', ['preflight', 'bootstrap', 'distill', 'quantise', 'simulation'])), name='job_kind_known'), models.CheckConstraint(condition=models.Q(('progress__gte', 0), ('progress__lte', 1)), name='progress_is_a_share'), models.CheckConstraint(condition=models.Q(('kind__in', ['preflight', 'simulation']), ('dataset__isnull', False), _connector='OR'), name='training_has_data'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'quantise'), ('version__isnull', False)), ('kind', 'simulation'), models.Q(models.Q(('kind__in', ['quantise', 'simulation']), _negated=True), ('version__isnull', True)), _connector='OR'), name='quantised_version'), models.CheckConstraint(condition=models.Q(models.Q(('federation__isnull', False), ('kind', 'simulation')), models.Q(models.Q(('kind', 'simulation'), _negated=True), ('federation', None), ('fleet', None), ('found', None)), _connector='OR'), name='simulated_federation'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'simulation'), ('state', 'succeeded'), _negated=True), ('found__isnull', False), _connector='OR'), name='simulation_found')],
                    },
                ),
                migrations.CreateModel(
                    name='JobLine',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='cloud_training.trainingjob')),
                        ('at', models.DateTimeField()),
                        ('text', models.CharField(max_length=400)),
                    ],
                    options={
                        'ordering': ['id'],
                        'indexes': [models.Index(fields=['job', 'id'], name='line_of_job')],
                    },
                ),
            ],
        ),
    ]
