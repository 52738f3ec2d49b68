import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('alliances', '0001_alliances'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
        ('fleet', '0001_tables'),
        ('registry', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Alliance',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=100)),
                        ('terms', models.JSONField()),
                        ('state', models.CharField(choices=[('waiting', 'Waiting'), ('working', 'Working'), ('finished', 'Finished'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='waiting', max_length=12)),
                        ('created_at', models.DateTimeField()),
                        ('begun_at', models.DateTimeField(blank=True, null=True)),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('common', models.PositiveIntegerField(default=0)),
                        ('epoch', models.PositiveIntegerField(default=0)),
                        ('loss', models.FloatField(blank=True, null=True)),
                        ('accuracy', models.FloatField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'working', 'finished', 'failed', 'cancelled'])), name='alliance_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'working'), _negated=True), ('begun_at__isnull', False), _connector='OR'), name='working_alliance_has_begun')],
                    },
                ),
                migrations.CreateModel(
                    name='Party',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('alliance', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parties', to='alliances.alliance')),
                        ('role', models.CharField(choices=[('columns', 'Columns'), ('labels', 'Labels')], max_length=8)),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alliance_parties', to='fleet.device')),
                        ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='alliance_parties', to='registry.modelversion')),
                        ('key', models.BinaryField(blank=True, null=True)),
                        ('partner', models.BinaryField(blank=True, null=True)),
                        ('people', models.PositiveIntegerField(blank=True, null=True)),
                        ('columns', models.PositiveIntegerField(blank=True, null=True)),
                        ('joined_at', models.DateTimeField(blank=True, null=True)),
                        ('seen_at', models.DateTimeField(blank=True, null=True)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                        ('sent', models.PositiveIntegerField(default=0)),
                        ('sent_bytes', models.PositiveBigIntegerField(default=0)),
                        ('taken', models.PositiveIntegerField(default=0)),
                    ],
                    options={
                        'ordering': ['alliance', 'role'],
                        'constraints': [models.UniqueConstraint(fields=('alliance', 'role'), name='role_once_an_alliance'), models.UniqueConstraint(fields=('alliance', 'device'), name='device_once_an_alliance')],
                    },
                ),
                migrations.CreateModel(
                    name='Letter',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('party', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='letters', to='alliances.party')),
                        ('number', models.PositiveIntegerField()),
                        ('content', models.BinaryField()),
                    ],
                    options={
                        'ordering': ['party', 'number'],
                        'constraints': [models.UniqueConstraint(fields=('party', 'number'), name='letter_once_a_party')],
                    },
                ),
            ],
        ),
    ]
