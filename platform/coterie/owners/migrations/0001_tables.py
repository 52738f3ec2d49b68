import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('owners', '0001_initial'),
        ('owners', '0003_rebuilds'),
    ]

    initial = True

    dependencies = [
        ('federations', '0001_tables'),
        ('fleet', '0001_tables'),
        ('registry', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Forgetting',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('device', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='forgetting', to='fleet.device')),
                        ('asked_by', models.CharField(choices=[('owner', 'Owner'), ('operator', 'Operator')], max_length=10)),
                        ('state', models.CharField(choices=[('asked', 'Asked'), ('removing', 'Removing'), ('done', 'Done')], default='asked', max_length=10)),
                        ('asked_at', models.DateTimeField()),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                        ('taken_out', models.PositiveIntegerField(default=0, editable=False)),
                        ('removed', models.JSONField(default=dict, editable=False)),
                        ('holds', models.JSONField(default=list, editable=False)),
                        ('files', models.JSONField(default=list, editable=False)),
                    ],
                    options={
                        'ordering': ['-asked_at'],
                        'indexes': [models.Index(condition=models.Q(('state', 'done'), _negated=True), fields=['state'], name='unfinished_forgetting')],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['asked', 'removing', 'done'])), name='forgetting_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state', 'done')), models.Q(models.Q(('state', 'done'), _negated=True), ('finished_at', None)), _connector='OR'), name='done_forgetting_has_its_end')],
                    },
                ),
                migrations.CreateModel(
                    name='Rebuild',
                    fields=[
                        ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                        ('lease_until', models.DateTimeField(blank=True, null=True)),
                        ('attempts', models.PositiveIntegerField(default=0)),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('forgetting', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rebuilds', to='owners.forgetting')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rebuilds', to='federations.federation')),
                        ('state', models.CharField(choices=[('asked', 'Asked'), ('repeating', 'Repeating'), ('retiring', 'Retiring'), ('done', 'Done')], default='asked', max_length=10)),
                        ('promise', models.JSONField(editable=False)),
                        ('held', models.JSONField(editable=False)),
                        ('without', models.JSONField(default=list, editable=False)),
                        ('base', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('merges', models.JSONField(default=list, editable=False)),
                        ('to_repeat', models.PositiveIntegerField(default=0)),
                        ('restart_code', models.CharField(blank=True, max_length=64)),
                        ('restart_sentence', models.CharField(blank=True, max_length=400)),
                        ('parameters', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('server_state', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('residual', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.blob')),
                        ('metrics', models.JSONField(default=dict, editable=False)),
                        ('result_version', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='rebuilt_by', to='registry.modelversion')),
                        ('retired', models.PositiveIntegerField(default=0)),
                        ('retired_bytes', models.PositiveBigIntegerField(default=0)),
                        ('elsewhere', models.PositiveIntegerField(default=0)),
                        ('asked_at', models.DateTimeField()),
                        ('postponed_until', models.DateTimeField(blank=True, null=True)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-asked_at', 'id'],
                        'indexes': [models.Index(condition=models.Q(('state', 'done'), _negated=True), fields=['state'], name='unfinished_rebuild')],
                        'constraints': [models.UniqueConstraint(fields=('forgetting', 'federation'), name='one_rebuild_a_federation'), models.CheckConstraint(condition=models.Q(('state__in', ['asked', 'repeating', 'retiring', 'done'])), name='rebuild_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state', 'done')), models.Q(models.Q(('state', 'done'), _negated=True), ('finished_at', None)), _connector='OR'), name='done_rebuild_has_its_end'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'repeating'), _negated=True), ('base__isnull', False), _connector='OR'), name='repeating_rebuild_has_its_base')],
                    },
                ),
            ],
        ),
    ]
