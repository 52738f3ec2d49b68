import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('merging', '0001_initial'),
        ('rounds', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='update',
            name='assignment',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='rounds.assignment'),
        ),
        migrations.AddField(
            model_name='assignment',
            name='update',
            field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='assignment', to='merging.update'),
        ),
        migrations.AddField(
            model_name='round',
            name='merge',
            field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='round', to='merging.merge'),
        ),
        migrations.RemoveConstraint(
            model_name='round',
            name='published_round_has_version',
        ),
    ]
