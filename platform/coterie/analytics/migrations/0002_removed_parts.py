from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('analytics', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='question',
            name='removed_parts',
            field=models.JSONField(blank=True, null=True),
        ),
    ]
