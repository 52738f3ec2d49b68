from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cloud_training', '0001_initial'),
    ]

    operations = [
        migrations.RenameField(model_name='trainingjob', old_name='error_code', new_name='reason_code'),
        migrations.RenameField(model_name='trainingjob', old_name='error_sentence', new_name='reason_sentence'),
        migrations.RenameField(model_name='trainingjob', old_name='attempt', new_name='attempts'),
        migrations.AlterField(
            model_name='trainingjob',
            name='reason_sentence',
            field=models.CharField(blank=True, max_length=400),
        ),
    ]
