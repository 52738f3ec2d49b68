import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('rollouts', '0001_initial'),
        ('rollouts', '0002_shadow'),
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
                    name='Rollout',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rollouts', to='federations.federation')),
                        ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rollouts', to='registry.modelversion')),
                        ('champion', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('terms', models.JSONField()),
                        ('state', models.CharField(choices=[('planned', 'Planned'), ('measuring', 'Measuring'), ('promoted', 'Promoted'), ('rolled_back', 'Rolled Back'), ('cancelled', 'Cancelled')], default='planned', max_length=12)),
                        ('created_at', models.DateTimeField()),
                        ('begun_at', models.DateTimeField(blank=True, null=True)),
                        ('due_at', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('figures', models.JSONField(blank=True, default=dict)),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'measuring')), fields=('federation',), name='one_measuring_rollout_a_federation'), models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'measuring', 'promoted', 'rolled_back', 'cancelled'])), name='rollout_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'measuring'), _negated=True), models.Q(('begun_at__isnull', False), ('champion__isnull', False)), _connector='OR'), name='measuring_rollout_has_begun')],
                    },
                ),
                migrations.CreateModel(
                    name='Trial',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='trials', to='rollouts.rollout')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='trials', to='fleet.device')),
                        ('reported_at', models.DateTimeField(blank=True, null=True)),
                        ('samples', models.PositiveBigIntegerField(blank=True, null=True)),
                        ('champion_loss', models.FloatField(blank=True, null=True)),
                        ('champion_accuracy', models.FloatField(blank=True, null=True)),
                        ('candidate_loss', models.FloatField(blank=True, null=True)),
                        ('candidate_accuracy', models.FloatField(blank=True, null=True)),
                        ('agreement', models.FloatField(blank=True, null=True)),
                        ('durations', models.JSONField(blank=True, default=dict)),
                        ('fault_code', models.CharField(blank=True, max_length=64)),
                        ('fault_sentence', models.CharField(blank=True, max_length=400)),
                    ],
                    options={
                        'ordering': ['rollout', 'id'],
                        'constraints': [models.UniqueConstraint(fields=('rollout', 'device'), name='device_once_a_rollout')],
                    },
                ),
            ],
        ),
    ]
