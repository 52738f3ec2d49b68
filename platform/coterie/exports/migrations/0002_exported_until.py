from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('exports', '0001_initial'),
    ]

    operations = [
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
    ]
