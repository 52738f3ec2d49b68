import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('fleet', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='DeviceLog',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('hours', models.PositiveSmallIntegerField()),
                        ('why', models.CharField(blank=True, max_length=200)),
                        ('state', models.CharField(choices=[('asked', 'Asked'), ('allowed', 'Allowed'), ('refused', 'Refused'), ('delivered', 'Delivered'), ('expired', 'Expired'), ('cancelled', 'Cancelled')], default='asked', max_length=10)),
                        ('created_at', models.DateTimeField()),
                        ('due_at', models.DateTimeField()),
                        ('allowed_at', models.DateTimeField(blank=True, null=True)),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('line_count', models.PositiveIntegerField(default=0)),
                        ('left_out', models.PositiveBigIntegerField(default=0)),
                        ('size_bytes', models.PositiveIntegerField(default=0)),
                        ('keep_until', models.DateTimeField(blank=True, null=True)),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='logs', to='fleet.device')),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['asked', 'allowed', 'refused', 'delivered', 'expired', 'cancelled'])), name='device_log_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'delivered'), _negated=True), ('keep_until__isnull', False), _connector='OR'), name='delivered_device_log_has_an_end'), models.CheckConstraint(condition=models.Q(('hours__range', (1, 168))), name='device_log_hours_bounded'), models.UniqueConstraint(condition=models.Q(('state__in', ['asked', 'allowed'])), fields=('device',), name='one_open_log_a_device')],
                    },
                ),
                migrations.CreateModel(
                    name='DeviceLogLine',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('at', models.DateTimeField()),
                        ('level', models.CharField(choices=[('info', 'Info'), ('warning', 'Warning'), ('error', 'Error')], max_length=7)),
                        ('source', models.CharField(max_length=100)),
                        ('text', models.CharField(max_length=500)),
                        ('log', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='device_logs.devicelog')),
                    ],
                    options={
                        'ordering': ['log', 'id'],
                    },
                ),
            ],
        ),
    ]
