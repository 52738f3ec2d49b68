import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('agent_rollouts', '0001_initial'),
        ('agent_rollouts', '0002_update_by_state'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
        ('fleet', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='AgentRollout',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('version', models.CharField(max_length=40)),
                        ('tag', models.CharField(blank=True, max_length=50)),
                        ('device', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='fleet.device')),
                        ('phases', models.JSONField()),
                        ('phase', models.PositiveSmallIntegerField(default=0)),
                        ('hold_s', models.FloatField()),
                        ('probation_s', models.FloatField()),
                        ('most_failures', models.FloatField()),
                        ('state', models.CharField(choices=[('running', 'Running'), ('paused', 'Paused'), ('done', 'Done'), ('rolled_back', 'Rolled Back'), ('stopped', 'Stopped')], default='running', max_length=12)),
                        ('created_at', models.DateTimeField()),
                        ('phase_since', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('figures', models.JSONField(blank=True, default=dict)),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['running', 'paused'])), fields=('project',), name='one_agent_rollout_a_project'), models.CheckConstraint(condition=models.Q(('state__in', ['running', 'paused', 'done', 'rolled_back', 'stopped'])), name='agent_rollout_state_known')],
                    },
                ),
                migrations.CreateModel(
                    name='DeviceUpdate',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='updates', to='agent_rollouts.agentrollout')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agent_updates', to='fleet.device')),
                        ('former', models.CharField(max_length=40)),
                        ('state', models.CharField(choices=[('asked', 'Asked'), ('waiting', 'Waiting'), ('installed', 'Installed'), ('refused', 'Refused'), ('failed', 'Failed'), ('returned', 'Returned')], default='asked', max_length=12)),
                        ('asked_at', models.DateTimeField()),
                        ('installed_at', models.DateTimeField(blank=True, null=True)),
                        ('changed_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['rollout', 'asked_at', 'id'],
                        'indexes': [models.Index(fields=['device', 'state'], name='agent_update_of_device'), models.Index(fields=['rollout', 'state', 'device'], name='agent_update_by_state')],
                        'constraints': [models.UniqueConstraint(fields=('rollout', 'device'), name='device_once_an_agent_rollout')],
                    },
                ),
            ],
        ),
    ]
