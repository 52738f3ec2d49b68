import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('registry', '0001_initial'),
        ('registry', '0002_server_state'),
        ('registry', '0003_removed_blobs'),
        ('registry', '0004_lineage'),
        ('registry', '0005_uploaded_weights'),
        ('registry', '0006_lineages_of_federations'),
        ('registry', '0007_verified_blobs'),
        ('registry', '0008_version_difference'),
        ('registry', '0009_variants'),
        ('registry', '0010_notes_and_archive'),
        ('registry', '0011_projects'),
        ('registry', '0012_rebuilt_versions'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Blob',
                    fields=[
                        ('sha256', models.CharField(max_length=64, primary_key=True, serialize=False)),
                        ('size_bytes', models.PositiveBigIntegerField()),
                        ('created_at', models.DateTimeField()),
                        ('kept_at', models.DateTimeField(blank=True, null=True)),
                        ('removed_at', models.DateTimeField(blank=True, null=True)),
                        ('verified_at', models.DateTimeField(blank=True, null=True)),
                        ('damaged_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-created_at'],
                    },
                ),
                migrations.CreateModel(
                    name='ModelPair',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('notes', models.TextField(blank=True, default='')),
                        ('archived_at', models.DateTimeField(blank=True, null=True)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=100)),
                        ('slug', models.SlugField(max_length=100)),
                        ('state', models.CharField(choices=[('checking', 'Checking'), ('ready', 'Ready'), ('rejected', 'Rejected')], default='checking', max_length=10)),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.TextField(blank=True)),
                        ('reason_fields', models.JSONField(blank=True, default=dict)),
                        ('labels', models.JSONField()),
                        ('batch_size', models.PositiveIntegerField()),
                        ('device_program', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('cloud_program', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('spec', models.JSONField(blank=True, null=True)),
                        ('train_step', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('predict', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('initial_parameters', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('initial_cloud_parameters', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('teacher_predict', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('teacher_parameters', models.JSONField(blank=True, null=True)),
                        ('recipe', models.JSONField(default=dict)),
                        ('frozen', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('loss_program', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('report', models.JSONField(blank=True, default=dict)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-created_at', 'slug'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'rejected'), _negated=True), fields=('project', 'slug'), name='pair_slug_once_a_project'), models.CheckConstraint(condition=models.Q(('state__in', ['checking', 'ready', 'rejected'])), name='pair_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'ready'), _negated=True), models.Q(('initial_parameters__isnull', False), ('predict__isnull', False), ('spec__isnull', False), ('train_step__isnull', False)), _connector='OR'), name='ready_pair_is_compiled')],
                    },
                ),
                migrations.CreateModel(
                    name='ModelVersion',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='registry.modelpair')),
                        ('role', models.CharField(choices=[('device', 'Device'), ('cloud', 'Cloud')], max_length=10)),
                        ('lineage', models.CharField(blank=True, default='', max_length=150)),
                        ('number', models.PositiveIntegerField()),
                        ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='registry.modelversion')),
                        ('origin', models.CharField(choices=[('bootstrap', 'Bootstrap'), ('upload', 'Upload'), ('distillation', 'Distillation'), ('merge', 'Merge'), ('split', 'Split'), ('copy', 'Copy'), ('rebuild', 'Rebuild')], max_length=15)),
                        ('parameters', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('server_state', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('metrics', models.JSONField(blank=True, default=dict)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-created_at', '-number'],
                        'constraints': [models.UniqueConstraint(fields=('pair', 'role', 'lineage', 'number'), name='version_number_once'), models.CheckConstraint(condition=models.Q(('role__in', ['device', 'cloud'])), name='version_role_known'), models.CheckConstraint(condition=models.Q(('origin__in', ['bootstrap', 'upload', 'distillation', 'merge', 'split', 'copy', 'rebuild'])), name='version_origin_known')],
                    },
                ),
                migrations.CreateModel(
                    name='Description',
                    fields=[
                        ('notes', models.TextField(blank=True, default='')),
                        ('archived_at', models.DateTimeField(blank=True, null=True)),
                        ('version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='description', serialize=False, to='registry.modelversion')),
                        ('name', models.CharField(blank=True, max_length=100)),
                    ],
                    options={
                        'ordering': ['version'],
                    },
                ),
                migrations.CreateModel(
                    name='Alias',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('pair', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='registry.modelpair')),
                        ('role', models.CharField(choices=[('device', 'Device'), ('cloud', 'Cloud')], max_length=10)),
                        ('lineage', models.CharField(blank=True, default='', max_length=150)),
                        ('name', models.CharField(choices=[('champion', 'Champion')], max_length=20)),
                        ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='aliases', to='registry.modelversion')),
                        ('moved_at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'aliases',
                        'ordering': ['pair', 'role', 'lineage', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('pair', 'role', 'lineage', 'name'), name='alias_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Withdrawal',
                    fields=[
                        ('version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='withdrawal', serialize=False, to='registry.modelversion')),
                        ('withdrawn_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-withdrawn_at'],
                    },
                ),
                migrations.CreateModel(
                    name='TeacherWeights',
                    fields=[
                        ('version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='weights', serialize=False, to='registry.modelversion')),
                        ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                    ],
                    options={
                        'verbose_name_plural': 'teacher weights',
                    },
                ),
                migrations.CreateModel(
                    name='VersionDifference',
                    fields=[
                        ('version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='difference', serialize=False, to='registry.modelversion')),
                        ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('codec', models.CharField(max_length=100)),
                        ('residual', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                    ],
                    options={
                        'abstract': False,
                    },
                ),
                migrations.CreateModel(
                    name='Variant',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='variants', to='registry.modelversion')),
                        ('name', models.CharField(choices=[('int8', 'Int8')], max_length=10)),
                        ('graph', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.TextField(blank=True)),
                        ('measured', models.JSONField()),
                        ('made_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['version', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('version', 'name'), name='variant_once'), models.CheckConstraint(condition=models.Q(('name__in', ['int8'])), name='variant_name_known'), models.CheckConstraint(condition=models.Q(models.Q(('graph__isnull', False), ('reason_code', '')), models.Q(('graph__isnull', True), models.Q(('reason_code', ''), _negated=True)), _connector='OR'), name='variant_or_reason')],
                    },
                ),
                migrations.CreateModel(
                    name='Dataset',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=100)),
                        ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('rows', models.PositiveBigIntegerField()),
                        ('inputs', models.JSONField()),
                        ('target_shape', models.JSONField(default=list)),
                        ('target_dtype', models.CharField(default='int64', max_length=10)),
                        ('classes', models.PositiveIntegerField()),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-created_at', 'name'],
                    },
                ),
            ],
        ),
    ]
