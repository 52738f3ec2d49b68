import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('federations', '0001_initial'),
        ('federations', '0002_patience'),
        ('federations', '0003_own_versions'),
        ('federations', '0004_notes_and_archive'),
        ('federations', '0005_projects'),
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
                    name='Federation',
                    fields=[
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('notes', models.TextField(blank=True, default='')),
                        ('archived_at', models.DateTimeField(blank=True, null=True)),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=100)),
                        ('slug', models.SlugField(max_length=100)),
                        ('pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='federations', to='registry.modelpair')),
                        ('plan', models.JSONField()),
                        ('device_tag', models.CharField(blank=True, max_length=50)),
                        ('held_out', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.dataset')),
                        ('cloud_data', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.dataset')),
                        ('tolerance', models.FloatField(default=0.02)),
                        ('patience', models.PositiveIntegerField(blank=True, null=True)),
                        ('attempts', models.PositiveIntegerField(default=5)),
                        ('kept_back', models.PositiveIntegerField(default=0)),
                        ('own_versions', models.BooleanField(default=False)),
                        ('seed', models.PositiveBigIntegerField(default=0)),
                        ('rounds_wanted', models.PositiveIntegerField(blank=True, null=True)),
                        ('state', models.CharField(choices=[('draft', 'Draft'), ('running', 'Running'), ('paused', 'Paused'), ('finished', 'Finished')], default='draft', max_length=10)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['created_at', 'slug'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'slug'), name='federation_slug_once'), models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'running', 'paused', 'finished'])), name='federation_state_known'), models.CheckConstraint(condition=models.Q(('archived_at', None), ('state__in', ['draft', 'finished']), _connector='OR'), name='archived_holds_no_rounds'), models.CheckConstraint(condition=models.Q(('attempts__gte', 1)), name='attempts_are_some'), models.CheckConstraint(condition=models.Q(('tolerance__gte', 0), ('tolerance__lte', 1)), name='tolerance_is_a_share'), models.UniqueConstraint(condition=models.Q(('own_versions', False), ('state__in', ['running', 'paused'])), fields=('pair',), name='one_active_federation_a_pair')],
                    },
                ),
                migrations.CreateModel(
                    name='Split',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='splits', to='federations.federation')),
                        ('round_number', models.PositiveIntegerField()),
                        ('groups', models.PositiveIntegerField()),
                        ('silhouettes', models.JSONField(default=dict)),
                        ('distances', models.JSONField(default=dict)),
                        ('reason_code', models.CharField(max_length=64)),
                        ('reason_sentence', models.CharField(max_length=400)),
                        ('at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-at', '-id'],
                        'constraints': [models.UniqueConstraint(fields=('federation', 'round_number'), name='one_split_a_round')],
                    },
                ),
                migrations.CreateModel(
                    name='Group',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='groups', to='federations.federation')),
                        ('name', models.CharField(max_length=40)),
                        ('since', models.DateTimeField()),
                        ('until', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['federation', 'since', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('federation', 'name'), name='group_name_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Membership',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='federations.group')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='federations.federation')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='fleet.device')),
                        ('since', models.DateTimeField()),
                        ('since_round', models.PositiveIntegerField()),
                        ('until', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-since', '-id'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('until', None)), fields=('federation', 'device'), name='one_group_a_device')],
                    },
                ),
            ],
        ),
    ]
