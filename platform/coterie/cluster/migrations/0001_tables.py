import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('cluster', '0001_hosts_and_gangs'),
        ('cluster', '0002_where_workers_start'),
        ('cluster', '0003_launcher_asked_for'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Host',
                    fields=[
                        ('name', models.CharField(max_length=100, primary_key=True, serialize=False)),
                        ('rack', models.CharField(blank=True, max_length=100)),
                        ('address', models.CharField(blank=True, max_length=255)),
                        ('launcher', models.CharField(default='here', max_length=20)),
                        ('places', models.PositiveIntegerField()),
                        ('cores', models.PositiveIntegerField()),
                        ('gpus', models.PositiveIntegerField()),
                        ('memory_bytes', models.PositiveBigIntegerField()),
                        ('since', models.DateTimeField()),
                        ('seen_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['name'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('places__gte', 1)), name='host_has_a_place')],
                    },
                ),
                migrations.CreateModel(
                    name='Gang',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('job', models.UUIDField(unique=True)),
                        ('label', models.CharField(max_length=200)),
                        ('team', models.CharField(blank=True, max_length=40)),
                        ('priority', models.SmallIntegerField(default=0)),
                        ('ranks', models.PositiveIntegerField()),
                        ('spreads', models.BooleanField()),
                        ('launcher', models.CharField(blank=True, max_length=20)),
                        ('small', models.BooleanField(default=False)),
                        ('state', models.CharField(choices=[('waiting', 'Waiting'), ('placed', 'Placed'), ('leaving', 'Leaving'), ('ended', 'Ended')], default='waiting', max_length=10)),
                        ('since', models.DateTimeField()),
                        ('not_before', models.DateTimeField()),
                        ('placed_at', models.DateTimeField(blank=True, null=True)),
                        ('leaves_by', models.DateTimeField(blank=True, null=True)),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('placements', models.PositiveIntegerField(default=0)),
                        ('failures', models.PositiveIntegerField(default=0)),
                        ('avoids', models.JSONField(blank=True, default=list)),
                        ('place_s', models.FloatField(default=0.0)),
                        ('gpu_s', models.FloatField(default=0.0)),
                    ],
                    options={
                        'ordering': ['-since', '-id'],
                        'indexes': [models.Index(condition=models.Q(('state__in', ['waiting', 'placed', 'leaving'])), fields=['state'], name='active_gang')],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'placed', 'leaving', 'ended'])), name='gang_state_known'), models.CheckConstraint(condition=models.Q(('ranks__gte', 1)), name='gang_has_a_worker')],
                    },
                ),
                migrations.CreateModel(
                    name='GangShare',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('gang', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='cluster.gang')),
                        ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='cluster.host')),
                        ('ranks', models.PositiveIntegerField()),
                        ('joined_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['id'],
                        'constraints': [models.UniqueConstraint(fields=('gang', 'host'), name='one_share_a_host')],
                    },
                ),
            ],
        ),
    ]
