import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('webhooks', '0001_initial'),
        ('webhooks', '0002_one_call_at_a_time'),
        ('webhooks', '0003_events_of_every_state'),
        ('webhooks', '0004_projects'),
        ('webhooks', '0005_rebuilt_lineages'),
        ('webhooks', '0006_agent_rollout_ended'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Webhook',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('held_until', models.DateTimeField(blank=True, editable=False, null=True)),
                        ('name', models.CharField(max_length=100)),
                        ('url', models.CharField(max_length=500)),
                        ('events', models.JSONField(default=list)),
                        ('secret', models.CharField(editable=False, max_length=100)),
                        ('is_active', models.BooleanField(default=True)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['name'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='webhook_name_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Delivery',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('state', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='pending', max_length=10)),
                        ('attempts', models.PositiveIntegerField(default=0)),
                        ('next_at', models.DateTimeField(blank=True, null=True)),
                        ('status', models.PositiveIntegerField(blank=True, null=True)),
                        ('problem', models.CharField(blank=True, max_length=400)),
                        ('created_at', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.webhook')),
                        ('event', models.CharField(choices=[('round.opened', 'Round Opened'), ('round.published', 'Round Published'), ('round.abandoned', 'Round Abandoned'), ('federation.started', 'Federation Started'), ('federation.paused', 'Federation Paused'), ('federation.finished', 'Federation Finished'), ('champion.changed', 'Champion Changed'), ('lineage.rebuilt', 'Lineage Rebuilt'), ('rollout.started', 'Rollout Started'), ('rollout.ended', 'Rollout Ended'), ('agent_rollout.ended', 'Agent Rollout Ended'), ('device.enrolled', 'Device Enrolled'), ('device.ended', 'Device Ended'), ('device.quarantined', 'Device Quarantined'), ('device.drifted', 'Device Drifted'), ('transfer.judged', 'Transfer Judged'), ('pair.judged', 'Pair Judged'), ('job.succeeded', 'Job Succeeded'), ('job.failed', 'Job Failed'), ('test', 'Test')], max_length=20)),
                        ('body', models.JSONField()),
                    ],
                    options={
                        'verbose_name_plural': 'deliveries',
                        'ordering': ['-created_at', '-id'],
                        'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['next_at'], name='due_delivery'), models.Index(fields=['created_at'], name='delivery_by_age')],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'delivered', 'failed'])), name='delivery_state_known')],
                    },
                ),
            ],
        ),
    ]
