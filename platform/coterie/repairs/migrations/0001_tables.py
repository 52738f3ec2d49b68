import coterie.core.migrating
import coterie.core.separation
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('repairs', '0001_initial'),
        ('repairs', '0002_projects'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Mute',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(default=coterie.core.separation.acting_project, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.project')),
                        ('key', models.CharField(max_length=150)),
                        ('sentence', models.CharField(max_length=500)),
                        ('until', models.DateTimeField(blank=True, null=True)),
                        ('muted_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-muted_at'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'key'), name='mute_once')],
                    },
                ),
            ],
        ),
    ]
