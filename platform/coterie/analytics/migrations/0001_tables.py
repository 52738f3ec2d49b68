import coterie.core.migrating
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('analytics', '0001_initial'),
        ('analytics', '0002_removed_parts'),
    ]

    initial = True

    dependencies = [
        ('federations', '0001_tables'),
        ('fleet', '0001_tables'),
        ('secure_sums', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Question',
                    fields=[
                        ('reason_code', models.CharField(blank=True, max_length=64)),
                        ('reason_sentence', models.CharField(blank=True, max_length=400)),
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('federation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='federations.federation')),
                        ('title', models.CharField(blank=True, max_length=200)),
                        ('content', models.JSONField()),
                        ('epsilon', models.FloatField(blank=True, null=True)),
                        ('delta', models.FloatField(blank=True, null=True)),
                        ('devices_wanted', models.PositiveIntegerField()),
                        ('sum', models.OneToOneField(on_delete=django.db.models.deletion.RESTRICT, related_name='asked_by', to='secure_sums.securesum')),
                        ('state', models.CharField(choices=[('open', 'Open'), ('summing', 'Summing'), ('answered', 'Answered'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='open', max_length=10)),
                        ('asked_at', models.DateTimeField()),
                        ('closes_at', models.DateTimeField()),
                        ('ended_at', models.DateTimeField(blank=True, null=True)),
                        ('counts', models.JSONField(blank=True, default=list)),
                        ('deviation', models.FloatField(blank=True, null=True)),
                        ('devices', models.PositiveIntegerField(blank=True, null=True)),
                        ('removed_parts', models.JSONField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-asked_at', '-id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['open', 'summing', 'answered', 'failed', 'cancelled'])), name='question_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'answered'), _negated=True), models.Q(('deviation__isnull', False), ('devices__isnull', False)), _connector='OR'), name='answer_has_its_error')],
                    },
                ),
                migrations.CreateModel(
                    name='Part',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('question', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='analytics.question')),
                        ('device', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='fleet.device')),
                        ('asked_at', models.DateTimeField()),
                        ('declined_code', models.CharField(blank=True, max_length=64)),
                        ('declined_sentence', models.CharField(blank=True, max_length=400)),
                    ],
                    options={
                        'ordering': ['question', 'asked_at'],
                        'constraints': [models.UniqueConstraint(fields=('question', 'device'), name='device_once_a_question')],
                    },
                ),
            ],
        ),
    ]
