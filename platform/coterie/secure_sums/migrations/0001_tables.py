import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('secure_sums', '0001_initial'),
        ('secure_sums', '0002_budgets_of_parties'),
        ('secure_sums', '0003_sums_of_answers'),
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
                    name='SecureSum',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secure_sums', to='federations.federation')),
                        ('cohort', models.PositiveBigIntegerField(blank=True, null=True, unique=True)),
                        ('question', models.JSONField(blank=True, null=True)),
                        ('state', models.CharField(choices=[('joining', 'Joining'), ('sharing', 'Sharing'), ('masking', 'Masking'), ('revealing', 'Revealing'), ('collected', 'Collected'), ('failed', 'Failed')], default='joining', max_length=10)),
                        ('plan', models.JSONField(blank=True, null=True)),
                        ('base_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('number', models.PositiveIntegerField(default=0)),
                        ('closes_at', models.DateTimeField(blank=True, null=True)),
                        ('list_sha256', models.CharField(blank=True, max_length=64)),
                        ('log_length', models.PositiveIntegerField(default=0)),
                        ('began_at', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-began_at'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['joining', 'sharing', 'masking', 'revealing', 'collected', 'failed'])), name='secure_sum_state_known'), models.CheckConstraint(condition=models.Q(('state__in', ['joining', 'failed']), models.Q(('list_sha256', ''), _negated=True), _connector='OR'), name='shared_sum_has_list'), models.CheckConstraint(condition=models.Q(models.Q(('base_version__isnull', False), ('cohort__isnull', False), ('plan__isnull', False), ('question__isnull', True)), models.Q(('base_version', None), ('cohort', None), ('plan__isnull', True), ('question__isnull', False)), _connector='OR'), name='sum_of_updates_or_answers')],
                    },
                ),
                migrations.CreateModel(
                    name='Party',
                    fields=[
                        ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                        ('sum', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parties', to='secure_sums.securesum')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='fleet.device')),
                        ('place', models.PositiveIntegerField(blank=True, null=True)),
                        ('member', models.TextField()),
                        ('boxes', models.TextField(blank=True)),
                        ('vector_sha256', models.CharField(blank=True, max_length=64)),
                        ('vector_bytes', models.PositiveBigIntegerField(default=0)),
                        ('delivered_at', models.DateTimeField(blank=True, null=True)),
                        ('out_of_budget', models.BooleanField(default=False)),
                        ('shares', models.TextField(blank=True)),
                    ],
                    options={
                        'verbose_name_plural': 'parties',
                        'ordering': ['sum', 'place'],
                        'constraints': [models.UniqueConstraint(fields=('sum', 'device'), name='device_once_a_sum')],
                    },
                ),
                migrations.CreateModel(
                    name='Identity',
                    fields=[
                        ('position', models.PositiveIntegerField(primary_key=True, serialize=False)),
                        ('device', models.UUIDField(unique=True)),
                        ('key', models.BinaryField(max_length=32)),
                        ('head', models.BinaryField(max_length=32)),
                        ('since', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'identities',
                        'ordering': ['position'],
                    },
                ),
            ],
        ),
    ]
