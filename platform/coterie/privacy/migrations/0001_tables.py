import coterie.core.migrating
import django.db.models.deletion
from django.db import migrations, models

from coterie.core.append_only import append_only


class Migration(migrations.Migration):

    replaces = [
        ('privacy', '0001_initial'),
        ('privacy', '0002_streams'),
    ]

    initial = True

    dependencies = [
        ('federations', '0001_tables'),
        ('fleet', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Budget',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='privacy_budget', to='federations.federation')),
                        ('device', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='privacy_budget', to='fleet.device')),
                        ('epsilon', models.FloatField()),
                        ('delta', models.FloatField()),
                        ('mu2', models.FloatField(editable=False)),
                        ('changed_at', models.DateTimeField()),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('device__isnull', False), ('federation', None)), models.Q(('device', None), ('federation__isnull', False)), _connector='OR'), name='budget_of_one'), models.CheckConstraint(condition=models.Q(('delta__gt', 0), ('delta__lt', 1), ('epsilon__gt', 0)), name='budget_in_range')],
                    },
                ),
                migrations.CreateModel(
                    name='Account',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='privacy_accounts', to='fleet.device')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='privacy_accounts', to='federations.federation')),
                        ('mu2', models.FloatField()),
                        ('releases', models.PositiveIntegerField()),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('federation', 'device'), name='one_account')],
                    },
                ),
                migrations.CreateModel(
                    name='Charge',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('release', models.CharField(max_length=100)),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='privacy_charges', to='fleet.device')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='privacy_charges', to='federations.federation')),
                        ('noise_multiplier', models.FloatField()),
                        ('participations', models.PositiveIntegerField()),
                        ('mu2', models.FloatField()),
                        ('total', models.FloatField()),
                        ('at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['at', 'pk'],
                        'indexes': [models.Index(fields=['federation', 'at'], name='charge_of_federation')],
                        'constraints': [models.UniqueConstraint(fields=('release', 'device'), name='charged_once')],
                    },
                ),
                migrations.CreateModel(
                    name='StreamRelease',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stream_releases', to='federations.federation')),
                        ('apart', models.PositiveIntegerField()),
                        ('index', models.PositiveIntegerField()),
                        ('release', models.CharField(max_length=100)),
                        ('digest', models.CharField(max_length=64)),
                        ('at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['federation', 'apart', 'index'],
                        'constraints': [models.UniqueConstraint(fields=('federation', 'apart', 'index'), name='stream_place_once'), models.UniqueConstraint(fields=('release',), name='stream_release_once')],
                    },
                ),
            ],
        ),
        append_only("privacy_charge", because="what has been spent is never changed"),
    ]
