import coterie.core.migrating
import django.core.serializers.json
import django.db.models.deletion
from django.db import migrations, models

from coterie.core.append_only import append_only


class Migration(migrations.Migration):

    replaces = [
        ('audit', '0001_initial'),
        ('audit', '0002_append_only'),
        ('audit', '0003_nobody_signed_in'),
        ('audit', '0004_projects'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Entry',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('at', models.DateTimeField(db_index=True)),
                        ('actor_kind', models.CharField(choices=[('person', 'Person'), ('token', 'Token'), ('system', 'System'), ('nobody', 'Nobody')], max_length=10)),
                        ('actor_id', models.CharField(blank=True, max_length=40)),
                        ('actor_name', models.CharField(max_length=150)),
                        ('token', models.CharField(blank=True, max_length=100)),
                        ('address', models.CharField(blank=True, max_length=45)),
                        ('project', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('action', models.CharField(max_length=64)),
                        ('subject_kind', models.CharField(max_length=64)),
                        ('subject_id', models.CharField(max_length=64)),
                        ('subject_name', models.CharField(max_length=200)),
                        ('before', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                        ('after', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                    ],
                    options={
                        'verbose_name_plural': 'entries',
                        'ordering': ['-id'],
                        'indexes': [models.Index(fields=['action', '-id'], name='audit_by_action'), models.Index(fields=['subject_kind', 'subject_id', '-id'], name='audit_by_subject'), models.Index(fields=['actor_id', '-id'], name='audit_by_actor')],
                    },
                ),
            ],
        ),
        append_only("audit_entry", because="the audit log is append-only"),
    ]
