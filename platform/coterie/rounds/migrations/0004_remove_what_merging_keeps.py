from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('rounds', '0003_move_updates_to_merging'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='round',
            name='lease_token',
        ),
        migrations.RemoveField(
            model_name='round',
            name='lease_until',
        ),
        migrations.RemoveField(
            model_name='round',
            name='merge_attempts',
        ),
        migrations.RemoveField(
            model_name='round',
            name='metrics',
        ),
        migrations.RemoveField(
            model_name='round',
            name='result_version',
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'abandoned'), models.Q(('merge__isnull', False), ('state__in', ['merging', 'published'])), models.Q(('state__in', ['planned', 'open', 'closing']), ('merge', None)), _connector='OR'), name='merged_round_has_merge'),
        ),
        migrations.DeleteModel(
            name='Update',
        ),
    ]
