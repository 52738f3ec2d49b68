import coterie.core.migrating
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('exports', '0001_initial'),
        ('exports', '0002_exported_until'),
        ('exports', '0003_exported_by_age'),
    ]

    initial = True

    dependencies = [
        ('rounds', '0001_tables'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Exported',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('exporter', models.CharField(max_length=100)),
                        ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='rounds.round')),
                        ('state', models.CharField(max_length=10)),
                        ('at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'exported',
                        'ordering': ['-at', '-id'],
                        'indexes': [models.Index(fields=['at'], name='exported_by_age')],
                        'constraints': [models.UniqueConstraint(fields=('exporter', 'round', 'state'), name='exported_once')],
                    },
                ),
                migrations.CreateModel(
                    name='ExportedUntil',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('exporter', models.CharField(max_length=100, unique=True)),
                        ('until', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'exported until',
                        'ordering': ['exporter'],
                    },
                ),
            ],
        ),
    ]
