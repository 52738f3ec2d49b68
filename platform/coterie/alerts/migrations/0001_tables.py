import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('alerts', '0001_initial'),
        ('alerts', '0002_projects'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
        ('federations', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Channel',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('held_until', models.DateTimeField(blank=True, editable=False, null=True)),
                        ('name', models.CharField(max_length=100)),
                        ('kind', models.CharField(choices=[('email', 'Email'), ('slack', 'Slack'), ('teams', 'Teams'), ('webhook', 'Webhook')], max_length=10)),
                        ('recipients', models.JSONField(default=list)),
                        ('url', models.CharField(blank=True, editable=False, max_length=1000)),
                        ('place', models.CharField(blank=True, max_length=300)),
                        ('secret', models.CharField(blank=True, editable=False, max_length=100)),
                        ('quiet_from', models.TimeField(blank=True, null=True)),
                        ('quiet_until', models.TimeField(blank=True, null=True)),
                        ('time_zone', models.CharField(default='UTC', max_length=60)),
                        ('is_active', models.BooleanField(default=True)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['name'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='channel_name_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['email', 'slack', 'teams', 'webhook'])), name='channel_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('quiet_from__isnull', True), ('quiet_until__isnull', True)), models.Q(('quiet_from__isnull', False), ('quiet_until__isnull', False)), _connector='OR'), name='quiet_hours_have_both_ends')],
                    },
                ),
                migrations.CreateModel(
                    name='Rule',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('name', models.CharField(max_length=100)),
                        ('kind', models.CharField(choices=[('repair', 'Repair'), ('job_failed', 'Job Failed'), ('accuracy_below', 'Accuracy Below'), ('online_below', 'Online Below'), ('unpublished_for', 'Unpublished For'), ('rounds_left_below', 'Rounds Left Below')], max_length=20)),
                        ('code', models.CharField(blank=True, max_length=100)),
                        ('least', models.CharField(choices=[('error', 'Error'), ('warning', 'Warning')], default='warning', max_length=10)),
                        ('federation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='federations.federation')),
                        ('threshold', models.FloatField(blank=True, null=True)),
                        ('severity', models.CharField(choices=[('error', 'Error'), ('warning', 'Warning')], default='warning', max_length=10)),
                        ('channels', models.JSONField(default=list)),
                        ('is_active', models.BooleanField(default=True)),
                        ('looked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['name'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='rule_name_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['repair', 'job_failed', 'accuracy_below', 'online_below', 'unpublished_for', 'rounds_left_below'])), name='rule_kind_known')],
                    },
                ),
                migrations.CreateModel(
                    name='Incident',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='incidents', to='alerts.rule')),
                        ('key', models.CharField(max_length=150)),
                        ('severity', models.CharField(choices=[('error', 'Error'), ('warning', 'Warning')], max_length=10)),
                        ('sentence', models.CharField(max_length=500)),
                        ('path', models.CharField(blank=True, max_length=200)),
                        ('began_at', models.DateTimeField()),
                        ('resolved_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-began_at', '-id'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('resolved_at', None)), fields=('rule', 'key'), name='one_open_incident_of_a_thing')],
                    },
                ),
                migrations.CreateModel(
                    name='Message',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('state', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='pending', max_length=10)),
                        ('attempts', models.PositiveIntegerField(default=0)),
                        ('next_at', models.DateTimeField(blank=True, null=True)),
                        ('status', models.PositiveIntegerField(blank=True, null=True)),
                        ('problem', models.CharField(blank=True, max_length=400)),
                        ('created_at', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='alerts.channel')),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['next_at'], name='due_message'), models.Index(fields=['channel', 'created_at'], name='message_by_age')],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'delivered', 'failed'])), name='message_state_known')],
                    },
                ),
                migrations.CreateModel(
                    name='Notice',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('incident', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='notices', to='alerts.incident')),
                        ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='alerts.channel')),
                        ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='alerts.message')),
                        ('rule_name', models.CharField(max_length=100)),
                        ('change', models.CharField(choices=[('firing', 'Firing'), ('resolved', 'Resolved'), ('test', 'Test')], max_length=10)),
                        ('severity', models.CharField(choices=[('error', 'Error'), ('warning', 'Warning')], max_length=10)),
                        ('sentence', models.CharField(max_length=500)),
                        ('path', models.CharField(blank=True, max_length=200)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'indexes': [models.Index(condition=models.Q(('message', None)), fields=['channel'], name='held_notice'), models.Index(fields=['created_at'], name='notice_by_age')],
                        'constraints': [models.UniqueConstraint(fields=('incident', 'channel', 'change'), name='told_once_of_each_change'), models.CheckConstraint(condition=models.Q(('change__in', ['firing', 'resolved', 'test'])), name='notice_change_known')],
                    },
                ),
            ],
        ),
    ]
