import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models
from django.apps.registry import Apps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_no_log(_apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """PostgreSQL writes no log of presence: after a crash, devices are tracked from their next check-in."""
    if editor.connection.vendor == "postgresql":
        editor.execute("ALTER TABLE fleet_presence SET UNLOGGED")
        editor.execute("ALTER TABLE fleet_presencekept SET UNLOGGED")


class Migration(migrations.Migration):

    replaces = [
        ('fleet', '0001_initial'),
        ('fleet', '0002_trusted_key'),
        ('fleet', '0003_fleet_size'),
        ('fleet', '0004_lacks'),
        ('fleet', '0005_quarantine'),
        ('fleet', '0006_quarantine_is_a_status'),
        ('fleet', '0007_notes_and_archive'),
        ('fleet', '0008_signing_key_changes'),
        ('fleet', '0009_latencies'),
        ('fleet', '0010_credential_renewals'),
        ('fleet', '0011_projects'),
        ('fleet', '0012_by_socket'),
        ('fleet', '0013_path_letters'),
        ('fleet', '0014_path_signals'),
        ('fleet', '0015_device_certificates'),
        ('fleet', '0016_device_agents'),
        ('fleet', '0017_presence'),
        ('fleet', '0018_device_by_presence'),
        ('fleet', '0019_broke_off'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='EnrolmentToken',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('label', models.CharField(max_length=100)),
                        ('tags', models.JSONField(blank=True, default=list)),
                        ('secret_hash', models.CharField(editable=False, max_length=64, unique=True)),
                        ('uses_allowed', models.PositiveIntegerField()),
                        ('uses', models.PositiveIntegerField(default=0)),
                        ('created_at', models.DateTimeField()),
                        ('expires_at', models.DateTimeField()),
                        ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('uses__lte', models.F('uses_allowed'))), name='uses_within_allowed')],
                    },
                ),
                migrations.CreateModel(
                    name='CredentialRenewal',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('tag', models.CharField(blank=True, max_length=50)),
                        ('leaked', models.BooleanField()),
                        ('devices', models.PositiveIntegerField()),
                        ('ordered_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-ordered_at', '-id'],
                    },
                ),
                migrations.CreateModel(
                    name='Device',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('notes', models.TextField(blank=True, default='')),
                        ('archived_at', models.DateTimeField(blank=True, null=True)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=100)),
                        ('tags', models.JSONField(blank=True, default=list)),
                        ('state', models.CharField(choices=[('enrolled', 'Enrolled'), ('revoked', 'Revoked'), ('left', 'Left')], default='enrolled', max_length=10)),
                        ('credential_hash', models.CharField(editable=False, max_length=64, unique=True)),
                        ('credential_since', models.DateTimeField(blank=True, null=True)),
                        ('certificate_until', models.DateTimeField(blank=True, null=True)),
                        ('renewal', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='fleet.credentialrenewal')),
                        ('trusted_key', models.CharField(blank=True, editable=False, max_length=64)),
                        ('enrolled_with', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='fleet.enrolmenttoken')),
                        ('enrolled_at', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('last_seen_at', models.DateTimeField(blank=True, null=True)),
                        ('broke_off_at', models.DateTimeField(blank=True, editable=False, null=True)),
                        ('check_in_s', models.FloatField(default=10.0)),
                        ('present_until', models.DateTimeField(blank=True, db_index=True, null=True)),
                        ('tracked', models.BooleanField(db_default=False, default=False, editable=False)),
                        ('by_socket', models.BooleanField(db_default=False, default=False, editable=False)),
                        ('capabilities', models.JSONField(blank=True, default=dict)),
                        ('lacks', models.TextField(blank=True, default='', editable=False)),
                        ('conditions', models.JSONField(blank=True, default=dict)),
                        ('blockers', models.JSONField(blank=True, default=list)),
                        ('blocked_by', models.CharField(blank=True, max_length=64)),
                        ('paused_at', models.DateTimeField(blank=True, null=True)),
                        ('quarantine', models.TextField(blank=True)),
                        ('trusted_since', models.DateTimeField(blank=True, null=True)),
                        ('pinned_version', models.CharField(blank=True, max_length=64)),
                        ('metadata', models.JSONField(blank=True, default=dict)),
                        ('held_version', models.CharField(blank=True, max_length=64)),
                        ('train_step_s', models.FloatField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['name', 'id'],
                        'indexes': [models.Index(fields=['state', 'present_until', 'blocked_by', 'paused_at', 'pinned_version', 'quarantine'], name='device_by_status'), models.Index(fields=['tags'], name='device_by_tags'), models.Index(fields=['name', 'id'], name='device_by_name'), models.Index(fields=['archived_at', 'name', 'id'], name='device_not_archived'), models.Index(fields=['blocked_by', 'state', 'present_until', 'paused_at', 'pinned_version', 'quarantine'], name='device_by_blocker'), models.Index(fields=['held_version', 'state'], name='device_by_version'), models.Index(fields=['tracked', 'last_seen_at'], name='device_by_presence'), models.Index(fields=['state', 'last_seen_at'], name='device_by_silence'), models.Index(fields=['enrolled_at'], name='device_by_enrolment'), models.Index(fields=['train_step_s'], name='device_by_train_step')],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['enrolled', 'revoked', 'left'])), name='device_state_known')],
                    },
                ),
                migrations.CreateModel(
                    name='Presence',
                    fields=[
                        ('device', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='presence', serialize=False, to='fleet.device')),
                        ('seen_at', models.DateTimeField()),
                        ('seen_before_at', models.DateTimeField(blank=True, null=True)),
                        ('until', models.DateTimeField(db_index=True)),
                    ],
                    options={
                        'verbose_name_plural': 'presence',
                        'ordering': ['device'],
                    },
                ),
                migrations.CreateModel(
                    name='PresenceKept',
                    fields=[
                        ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                        ('since', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'presence kept',
                        'ordering': ['id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='one_presence_kept')],
                    },
                ),
                migrations.CreateModel(
                    name='DeviceAgent',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('device', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='agent', serialize=False, to='fleet.device')),
                        ('version', models.CharField(max_length=40)),
                        ('refuses_updates', models.CharField(blank=True, max_length=64)),
                    ],
                    options={
                        'ordering': ['device'],
                        'indexes': [models.Index(fields=['project', 'version', 'refuses_updates', 'device'], name='agent_by_version')],
                    },
                ),
                migrations.CreateModel(
                    name='OtherCredential',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='other_credentials', to='fleet.device')),
                        ('sha256', models.CharField(editable=False, max_length=64, unique=True)),
                        ('made_at', models.DateTimeField()),
                        ('until', models.DateTimeField(blank=True, db_index=True, null=True)),
                    ],
                    options={
                        'ordering': ['made_at', 'id'],
                    },
                ),
                migrations.CreateModel(
                    name='DeviceAuthority',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('public_key', models.CharField(editable=False, max_length=64, unique=True)),
                        ('certificate', models.TextField(editable=False)),
                        ('made_at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'device authorities',
                        'ordering': ['id'],
                    },
                ),
                migrations.CreateModel(
                    name='DeviceCertificate',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='certificates', to='fleet.device')),
                        ('sha256', models.CharField(editable=False, max_length=64, unique=True)),
                        ('public_key', models.CharField(editable=False, max_length=64)),
                        ('authority', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='fleet.deviceauthority')),
                        ('issued_at', models.DateTimeField()),
                        ('until', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['issued_at', 'id'],
                    },
                ),
                migrations.CreateModel(
                    name='PathSignal',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('path', models.CharField(max_length=32)),
                        ('sender', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='path_signals_sent', to='fleet.device')),
                        ('receiver', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='path_signals', to='fleet.device')),
                        ('content', models.BinaryField()),
                        ('sent_at', models.DateTimeField(db_index=True)),
                    ],
                    options={
                        'ordering': ['sent_at', 'id'],
                        'constraints': [models.UniqueConstraint(fields=('path', 'sender'), name='one_signal_a_side_of_a_path')],
                    },
                ),
                migrations.CreateModel(
                    name='DeviceLatency',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='latencies', to='fleet.device')),
                        ('work', models.CharField(max_length=10)),
                        ('form', models.CharField(max_length=40)),
                        ('charging', models.CharField(max_length=10)),
                        ('version', models.UUIDField()),
                        ('hottest_c', models.FloatField(blank=True, null=True)),
                        ('durations', models.JSONField()),
                        ('p50_s', models.FloatField()),
                        ('p90_s', models.FloatField()),
                        ('p99_s', models.FloatField()),
                        ('at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'device latencies',
                        'ordering': ['device', 'work', 'form', 'charging'],
                        'indexes': [models.Index(fields=['version', 'work'], name='latency_of_version')],
                        'constraints': [models.UniqueConstraint(fields=('device', 'work', 'form', 'charging'), name='latency_once_a_condition')],
                    },
                ),
                migrations.CreateModel(
                    name='Observation',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='observations', to='fleet.device')),
                        ('at', models.DateTimeField(db_index=True)),
                        ('conditions', models.JSONField()),
                        ('blockers', models.JSONField()),
                        ('blocked_by', models.CharField(blank=True, max_length=64)),
                        ('held_version', models.CharField(blank=True, max_length=64)),
                    ],
                    options={
                        'ordering': ['-at', '-id'],
                        'indexes': [models.Index(fields=['device', '-at'], name='observation_of_device')],
                    },
                ),
                migrations.CreateModel(
                    name='SigningKeyChange',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('former_key', models.CharField(max_length=64, unique=True)),
                        ('key', models.CharField(max_length=64, unique=True)),
                        ('former_until', models.DateTimeField(blank=True, null=True)),
                        ('made_at', models.DateTimeField()),
                        ('statement', models.BinaryField()),
                        ('signature', models.BinaryField()),
                    ],
                    options={
                        'ordering': ['id'],
                    },
                ),
                migrations.CreateModel(
                    name='FleetSize',
                    fields=[
                        ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                        ('present', models.PositiveIntegerField()),
                        ('at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'fleet sizes',
                        'ordering': ['id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='one_fleet_size')],
                    },
                ),
            ],
        ),
        migrations.RunPython(keep_no_log, migrations.RunPython.noop),
    ]
