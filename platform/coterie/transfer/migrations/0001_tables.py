import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('transfer', '0001_initial'),
        ('transfer', '0002_personal_figures'),
        ('transfer', '0003_ways_of_portions'),
        ('transfer', '0004_noise_on_profiles'),
        ('transfer', '0005_help_in_vain'),
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
                    name='DeviceProfile',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='profiles', to='federations.federation')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='profiles', to='fleet.device')),
                        ('batch', models.PositiveBigIntegerField()),
                        ('content', models.JSONField()),
                        ('size_bytes', models.PositiveBigIntegerField(default=0)),
                        ('reports', models.PositiveBigIntegerField(default=0)),
                        ('updated_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['federation', 'device'],
                        'indexes': [models.Index(fields=['federation', 'updated_at'], name='transfer_de_federat_044a31_idx')],
                        'constraints': [models.UniqueConstraint(fields=('federation', 'device'), name='one_profile_a_member')],
                    },
                ),
                migrations.CreateModel(
                    name='ReportedDay',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reported_days', to='federations.federation')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reported_days', to='fleet.device')),
                        ('day', models.DateField()),
                        ('size_bytes', models.PositiveBigIntegerField(default=0)),
                        ('reports', models.PositiveBigIntegerField(default=0)),
                        ('noised', models.PositiveBigIntegerField(db_default=0, default=0)),
                        ('epsilon', models.FloatField(db_default=0.0, default=0.0)),
                        ('delta', models.FloatField(db_default=0.0, default=0.0)),
                        ('latest_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-day', 'federation', 'device'],
                        'indexes': [models.Index(fields=['day'], name='reported_by_day')],
                        'constraints': [models.UniqueConstraint(fields=('device', 'federation', 'day'), name='one_row_a_member_and_day')],
                    },
                ),
                migrations.CreateModel(
                    name='PersonalFigures',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='personal_figures', to='federations.federation')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='personal_figures', to='fleet.device')),
                        ('version', models.CharField(max_length=64)),
                        ('answers', models.BooleanField()),
                        ('samples', models.PositiveBigIntegerField()),
                        ('version_accuracy', models.FloatField(blank=True, null=True)),
                        ('own_accuracy', models.FloatField(blank=True, null=True)),
                        ('updated_at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'personal figures',
                        'ordering': ['federation', 'device'],
                        'constraints': [models.UniqueConstraint(fields=('federation', 'device'), name='one_personal_model_a_member')],
                    },
                ),
                migrations.CreateModel(
                    name='HelpRequest',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='help_requests', to='federations.federation')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='help_requests', to='fleet.device')),
                        ('state', models.CharField(choices=[('asked', 'Asked'), ('matched', 'Matched'), ('requested', 'Requested'), ('delivered', 'Delivered'), ('merged', 'Merged'), ('judged', 'Judged'), ('unmatched', 'Unmatched'), ('abandoned', 'Abandoned')], default='asked', max_length=10)),
                        ('changed_at', models.DateTimeField()),
                        ('due_at', models.DateTimeField()),
                        ('searched_at', models.DateTimeField(blank=True, null=True)),
                        ('plan', models.JSONField()),
                        ('plan_digest', models.CharField(max_length=64)),
                        ('classes', models.JSONField()),
                        ('profile', models.JSONField()),
                        ('asked_at', models.DateTimeField()),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-asked_at', '-id'],
                        'indexes': [models.Index(condition=models.Q(('state__in', ['asked', 'matched', 'requested', 'delivered', 'merged'])), fields=['due_at'], name='live_help_request'), models.Index(fields=['federation', '-asked_at'], name='transfer_he_federat_c1c873_idx'), models.Index(condition=models.Q(('state__in', ['unmatched', 'abandoned'])), fields=['finished_at'], name='help_request_in_vain')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['asked', 'matched', 'requested', 'delivered', 'merged'])), fields=('device',), name='one_live_help_request_a_device'), models.CheckConstraint(condition=models.Q(('state__in', ['asked', 'matched', 'requested', 'delivered', 'merged', 'judged', 'unmatched', 'abandoned'])), name='help_request_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['judged', 'unmatched', 'abandoned'])), models.Q(models.Q(('state__in', ['judged', 'unmatched', 'abandoned']), _negated=True), ('finished_at', None)), _connector='OR'), name='ended_help_request_has_its_end')],
                    },
                ),
                migrations.CreateModel(
                    name='Transfer',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('request', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='transfers', to='transfer.helprequest')),
                        ('helper', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='transfers_given', to='fleet.device')),
                        ('state', models.CharField(choices=[('matched', 'Matched'), ('requested', 'Requested'), ('delivered', 'Delivered'), ('merged', 'Merged'), ('kept', 'Kept'), ('undone', 'Undone'), ('declined', 'Declined'), ('rejected', 'Rejected'), ('expired', 'Expired'), ('withdrawn', 'Withdrawn')], default='matched', max_length=10)),
                        ('divergence', models.FloatField()),
                        ('matched_at', models.DateTimeField()),
                        ('requested_at', models.DateTimeField(blank=True, null=True)),
                        ('delivered_at', models.DateTimeField(blank=True, null=True)),
                        ('merged_at', models.DateTimeField(blank=True, null=True)),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('due_at', models.DateTimeField()),
                        ('sha256', models.CharField(blank=True, max_length=64)),
                        ('size_bytes', models.PositiveBigIntegerField(default=0)),
                        ('way', models.CharField(choices=[('trying', 'Trying'), ('direct', 'Direct'), ('platform', 'Platform')], db_default='platform', default='platform', max_length=10)),
                        ('way_code', models.CharField(blank=True, db_default='', max_length=64)),
                        ('way_sentence', models.CharField(blank=True, db_default='', max_length=400)),
                        ('accuracy_before', models.FloatField(blank=True, null=True)),
                        ('accuracy_after', models.FloatField(blank=True, null=True)),
                        ('judged_samples', models.PositiveBigIntegerField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['request', 'matched_at', 'id'],
                        'indexes': [models.Index(condition=models.Q(('state__in', ['matched', 'requested'])), fields=['helper'], name='transfer_with_helper')],
                        'constraints': [models.UniqueConstraint(fields=('request', 'helper'), name='helper_tried_once_a_request'), models.UniqueConstraint(condition=models.Q(('state__in', ['matched', 'requested', 'delivered', 'merged'])), fields=('request',), name='one_live_transfer_a_request'), models.CheckConstraint(condition=models.Q(('state__in', ['matched', 'requested', 'delivered', 'merged', 'kept', 'undone', 'declined', 'rejected', 'expired', 'withdrawn'])), name='transfer_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('accuracy_after__isnull', False), ('accuracy_before__isnull', False), ('state__in', ['kept', 'undone'])), models.Q(('state__in', ['kept', 'undone']), _negated=True), _connector='OR'), name='judged_transfer_has_figures')],
                    },
                ),
            ],
        ),
    ]
