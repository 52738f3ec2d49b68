from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('rounds', '0006_accuracy_where_there_is_one'),
    ]

    operations = [
        migrations.AddField(
            model_name='update',
            name='train_memory_bytes',
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='upload',
            name='train_memory_bytes',
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
    ]
