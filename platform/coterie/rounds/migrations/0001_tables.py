import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('rounds', '0001_initial'),
        ('rounds', '0002_merge_of_a_round'),
        ('rounds', '0003_move_updates_to_merging'),
        ('rounds', '0004_remove_what_merging_keeps'),
        ('rounds', '0005_kept_counts'),
        ('rounds', '0006_carried_assignments'),
        ('rounds', '0007_joined_assignments'),
        ('rounds', '0008_supernodes'),
        ('rounds', '0009_sums_of_sums'),
        ('rounds', '0010_steering'),
        ('rounds', '0011_missed_supernodes'),
        ('rounds', '0012_parts_in_vain'),
        ('rounds', '0013_removed_parts'),
        ('rounds', '0014_parts_to_fold'),
        ('rounds', '0015_ended_round'),
    ]

    initial = True

    dependencies = [
        ('federations', '0001_tables'),
        ('fleet', '0001_tables'),
        ('merging', '0001_tables'),
        ('registry', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Round',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rounds', to='federations.federation')),
                        ('number', models.PositiveIntegerField()),
                        ('state', models.CharField(choices=[('planned', 'Planned'), ('open', 'Open'), ('closing', 'Closing'), ('merging', 'Merging'), ('published', 'Published'), ('abandoned', 'Abandoned')], default='planned', max_length=10)),
                        ('reason_at', models.DateTimeField(blank=True, null=True)),
                        ('opens_at', models.DateTimeField()),
                        ('opened_at', models.DateTimeField(blank=True, null=True)),
                        ('deadline_at', models.DateTimeField(blank=True, null=True)),
                        ('closed_at', models.DateTimeField(blank=True, null=True)),
                        ('finished_at', models.DateTimeField(blank=True, null=True)),
                        ('plan', models.JSONField(blank=True, null=True)),
                        ('seed', models.PositiveBigIntegerField()),
                        ('base_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('merge', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='round', to='merging.merge')),
                        ('places', models.PositiveIntegerField(default=0)),
                        ('looked_at', models.DateTimeField(blank=True, null=True)),
                        ('at_work', models.PositiveIntegerField(default=0)),
                        ('updates_in', models.PositiveIntegerField(default=0)),
                        ('gathers_since', models.DateTimeField(blank=True, null=True)),
                        ('carries_on', models.BooleanField(default=False)),
                        ('tidied_at', models.DateTimeField(blank=True, null=True)),
                        ('removed_parts', models.PositiveIntegerField(db_default=0, default=0)),
                    ],
                    options={
                        'ordering': ['-opens_at', '-number'],
                        'indexes': [models.Index(condition=models.Q(('state__in', ['planned', 'open', 'closing', 'merging'])), fields=['state'], name='active_round'), models.Index(condition=models.Q(('tidied_at', None)), fields=['finished_at'], name='untidied_round'), models.Index(condition=models.Q(('state__in', ['published', 'abandoned'])), fields=['finished_at', 'id'], name='ended_round')],
                        'constraints': [models.UniqueConstraint(fields=('federation', 'number'), name='round_number_once'), models.UniqueConstraint(condition=models.Q(('state__in', ['planned', 'open', 'closing', 'merging'])), fields=('federation',), name='one_active_round_a_federation'), models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'open', 'closing', 'merging', 'published', 'abandoned'])), name='round_state_known'), models.CheckConstraint(condition=models.Q(('state', 'abandoned'), models.Q(('merge__isnull', False), ('state__in', ['merging', 'published'])), models.Q(('state__in', ['planned', 'open', 'closing']), ('merge', None)), _connector='OR'), name='merged_round_has_merge'), models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'abandoned']), models.Q(('base_version__isnull', False), ('deadline_at__isnull', False), ('plan__isnull', False)), _connector='OR'), name='opened_round_is_complete')],
                    },
                ),
                migrations.CreateModel(
                    name='Assignment',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='rounds.round')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='fleet.device')),
                        ('base_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('teacher', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.modelversion')),
                        ('state', models.CharField(choices=[('offered', 'Offered'), ('accepted', 'Accepted'), ('joined', 'Joined'), ('delivered', 'Delivered'), ('released', 'Released'), ('dropped', 'Dropped'), ('rejected', 'Rejected')], default='offered', max_length=10)),
                        ('update', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='assignment', to='merging.update')),
                        ('taken_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='rounds.round')),
                        ('seed', models.PositiveBigIntegerField()),
                        ('stage', models.CharField(blank=True, choices=[('accepted', 'Accepted'), ('training', 'Training'), ('waiting', 'Waiting'), ('uploading', 'Uploading')], max_length=10)),
                        ('steps_done', models.PositiveBigIntegerField(default=0)),
                        ('steps_total', models.PositiveBigIntegerField(default=0)),
                        ('offered_at', models.DateTimeField()),
                        ('changed_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['round', 'offered_at', 'id'],
                        'indexes': [models.Index(fields=['round', 'state', 'stage'], name='part_by_state'), models.Index(fields=['device', 'state'], name='part_of_device'), models.Index(condition=models.Q(('state__in', ['released', 'dropped', 'rejected'])), fields=['changed_at'], name='part_in_vain'), models.Index(condition=models.Q(('state', 'delivered'), ('taken_by__isnull', False), ('teacher', None), ('update__isnull', False)), fields=['changed_at'], name='part_to_fold')],
                        'constraints': [models.UniqueConstraint(fields=('round', 'device'), name='device_once_a_round'), models.UniqueConstraint(condition=models.Q(('state__in', ['offered', 'accepted'])), fields=('device',), name='one_live_assignment_a_device'), models.UniqueConstraint(condition=models.Q(('taken_by__isnull', False)), fields=('taken_by', 'device'), name='one_update_a_device_and_round'), models.CheckConstraint(condition=models.Q(('state__in', ['offered', 'accepted', 'joined', 'delivered', 'released', 'dropped', 'rejected'])), name='assignment_state_known')],
                    },
                ),
                migrations.CreateModel(
                    name='Route',
                    fields=[
                        ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='route', serialize=False, to='rounds.assignment')),
                        ('supernode', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='routes', to='fleet.device')),
                        ('epoch', models.PositiveIntegerField(default=1)),
                        ('reason_code', models.CharField(max_length=64)),
                        ('reason_sentence', models.CharField(max_length=400)),
                        ('changed_at', models.DateTimeField()),
                        ('held_at', models.DateTimeField(blank=True, null=True)),
                        ('norm', models.FloatField(blank=True, null=True)),
                        ('fingerprint', models.JSONField(blank=True, null=True)),
                        ('tier_fingerprints', models.JSONField(blank=True, default=list)),
                    ],
                    options={
                        'ordering': ['assignment'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('held_at', None), models.Q(('fingerprint__isnull', False), ('norm__isnull', False), ('supernode__isnull', False)), _connector='OR'), name='held_update_has_its_figures')],
                    },
                ),
                migrations.CreateModel(
                    name='Fold',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='folds', to='rounds.round')),
                        ('supernode', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='folds', to='fleet.device')),
                        ('shares', models.JSONField()),
                        ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='folds_taken', to='fleet.device')),
                        ('tier', models.PositiveSmallIntegerField(default=0)),
                        ('epoch', models.PositiveIntegerField(default=1)),
                        ('way_code', models.CharField(blank=True, max_length=64)),
                        ('way_sentence', models.CharField(blank=True, max_length=400)),
                        ('held_at', models.DateTimeField(blank=True, null=True)),
                        ('state', models.CharField(choices=[('asked', 'Asked'), ('held', 'Held'), ('accepted', 'Accepted'), ('void', 'Void')], default='asked', max_length=10)),
                        ('asked_at', models.DateTimeField()),
                        ('missed_since', models.DateTimeField(blank=True, null=True)),
                        ('sha256', models.CharField(blank=True, max_length=64)),
                        ('size_bytes', models.PositiveBigIntegerField(default=0)),
                        ('partial', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='fold', to='merging.partial')),
                    ],
                    options={
                        'ordering': ['-asked_at'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['asked', 'held', 'accepted'])), fields=('round', 'supernode'), name='one_fold_a_supernode'), models.CheckConstraint(condition=models.Q(('state__in', ['asked', 'held', 'accepted', 'void'])), name='fold_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'held'), _negated=True), models.Q(('held_at__isnull', False), ('parent__isnull', False)), _connector='OR'), name='held_fold_has_its_parent'), models.CheckConstraint(condition=models.Q(models.Q(('partial__isnull', False), ('state', 'accepted')), models.Q(models.Q(('state', 'accepted'), _negated=True), ('partial', None)), _connector='OR'), name='accepted_fold_has_partial')],
                    },
                ),
                migrations.CreateModel(
                    name='RoundEvent',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='rounds.round')),
                        ('at', models.DateTimeField()),
                        ('kind', models.CharField(choices=[('planned', 'Planned'), ('waits', 'Waits'), ('open', 'Open'), ('closing', 'Closing'), ('merging', 'Merging'), ('published', 'Published'), ('abandoned', 'Abandoned'), ('asked', 'Asked'), ('accepted', 'Accepted'), ('training', 'Training'), ('waiting', 'Waiting'), ('uploading', 'Uploading'), ('joined', 'Joined'), ('delivered', 'Delivered'), ('released', 'Released'), ('dropped', 'Dropped'), ('back', 'Back'), ('rejected', 'Rejected')], max_length=10)),
                        ('device', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='fleet.device')),
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                    ],
                    options={
                        'ordering': ['round', 'id'],
                        'indexes': [models.Index(fields=['round', 'id'], name='event_of_round')],
                    },
                ),
                migrations.CreateModel(
                    name='Steering',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('federation', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='steering', to='federations.federation')),
                        ('devices', models.PositiveIntegerField()),
                        ('shares', models.JSONField(blank=True, default=list)),
                        ('interval_s', models.FloatField()),
                        ('meets', models.BooleanField()),
                        ('at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'steering',
                        'ordering': ['id'],
                    },
                ),
                migrations.CreateModel(
                    name='Upload',
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
                        ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='upload', serialize=False, to='rounds.assignment')),
                        ('offered_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-offered_at'],
                    },
                ),
            ],
        ),
    ]
