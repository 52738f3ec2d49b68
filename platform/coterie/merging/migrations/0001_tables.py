import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('merging', '0001_initial'),
        ('merging', '0002_faults'),
        ('merging', '0003_postponed'),
        ('merging', '0004_fleet'),
        ('merging', '0005_update_staleness'),
        ('merging', '0006_compared'),
        ('merging', '0007_verified_updates'),
        ('merging', '0008_merge_secure_sum'),
        ('merging', '0009_supernodes'),
        ('merging', '0010_folded_assignments'),
    ]

    initial = True

    dependencies = [
        ('federations', '0001_tables'),
        ('fleet', '0001_tables'),
        ('registry', '0001_tables'),
        ('secure_sums', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Merge',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                        ('lease_until', models.DateTimeField(blank=True, null=True)),
                        ('attempts', models.PositiveIntegerField(default=0)),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='merges', to='federations.federation')),
                        ('number', models.PositiveIntegerField()),
                        ('state', models.CharField(choices=[('running', 'Running'), ('published', 'Published'), ('abandoned', 'Abandoned')], default='running', max_length=10)),
                        ('reason_at', models.DateTimeField()),
                        ('plan', models.JSONField()),
                        ('seed', models.PositiveBigIntegerField()),
                        ('base_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('result_version', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made_by', to='registry.modelversion')),
                        ('secure_sum', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='merge', to='secure_sums.securesum')),
                        ('fleet', models.PositiveIntegerField(blank=True, null=True)),
                        ('metrics', models.JSONField(blank=True, default=dict)),
                        ('asked_at', models.DateTimeField()),
                        ('postponed_until', models.DateTimeField(blank=True, null=True)),
                        ('postponements', models.PositiveIntegerField(default=0)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-asked_at', '-number'],
                        'indexes': [models.Index(condition=models.Q(('state', 'running')), fields=['state'], name='running_merge')],
                        'constraints': [models.UniqueConstraint(fields=('federation', 'number'), name='merge_number_once'), models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('federation',), name='one_running_merge_a_federation'), models.CheckConstraint(condition=models.Q(('state__in', ['running', 'published', 'abandoned'])), name='merge_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('result_version__isnull', False), ('state', 'published')), models.Q(models.Q(('state', 'published'), _negated=True), ('result_version', None)), _connector='OR'), name='published_merge_has_version'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('state', 'running')), models.Q(models.Q(('state', 'running'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='ended_merge_has_its_end')],
                    },
                ),
                migrations.CreateModel(
                    name='Partial',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('supernode', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='partials', to='fleet.device')),
                        ('cohort', models.PositiveBigIntegerField()),
                        ('sha256', models.CharField(max_length=64)),
                        ('size_bytes', models.PositiveBigIntegerField()),
                        ('weights', models.JSONField()),
                        ('received_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-received_at'],
                    },
                ),
                migrations.CreateModel(
                    name='Update',
                    fields=[
                        ('sha256', models.CharField(max_length=64)),
                        ('size_bytes', models.PositiveBigIntegerField()),
                        ('samples', models.PositiveBigIntegerField()),
                        ('steps_done', models.PositiveBigIntegerField()),
                        ('steps_total', models.PositiveBigIntegerField()),
                        ('loss_before', models.FloatField()),
                        ('loss_after', models.FloatField()),
                        ('accuracy_before', models.FloatField(blank=True, null=True)),
                        ('train_s', models.FloatField()),
                        ('classes', models.JSONField(blank=True, default=list)),
                        ('train_memory_bytes', models.PositiveBigIntegerField(blank=True, null=True)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='updates', to='federations.federation')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='updates', to='fleet.device')),
                        ('base_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('cohort', models.PositiveBigIntegerField()),
                        ('merge', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='updates', to='merging.merge')),
                        ('partial', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='updates', to='merging.partial')),
                        ('norm', models.FloatField(blank=True, null=True)),
                        ('offered_at', models.DateTimeField(blank=True, null=True)),
                        ('received_at', models.DateTimeField()),
                        ('verified_at', models.DateTimeField(blank=True, null=True)),
                        ('staleness', models.PositiveIntegerField(default=0)),
                        ('cloud_accuracy', models.FloatField(blank=True, null=True)),
                        ('kept', models.BooleanField(blank=True, null=True)),
                        ('merge_weight', models.FloatField(blank=True, null=True)),
                        ('merge_distance', models.FloatField(blank=True, null=True)),
                        ('fault_code', models.CharField(blank=True, max_length=64)),
                        ('fault_sentence', models.TextField(blank=True)),
                    ],
                    options={
                        'ordering': ['-received_at'],
                    },
                ),
            ],
        ),
    ]
