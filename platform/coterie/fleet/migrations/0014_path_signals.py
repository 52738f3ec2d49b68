import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0013_path_letters'),
    ]

    operations = [
        migrations.RenameModel('PathLetter', 'PathSignal'),
        migrations.AlterField(
            model_name='pathsignal',
            name='receiver',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='path_signals', to='fleet.device'),
        ),
        migrations.AlterField(
            model_name='pathsignal',
            name='sender',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='path_signals_sent', to='fleet.device'),
        ),
        migrations.RenameField('pathsignal', 'left_at', 'sent_at'),
        migrations.AlterModelOptions('pathsignal', {'ordering': ['sent_at', 'id']}),
        migrations.RemoveConstraint(model_name='pathsignal', name='one_letter_a_side_of_a_path'),
        migrations.AddConstraint(
            model_name='pathsignal',
            constraint=models.UniqueConstraint(fields=('path', 'sender'), name='one_signal_a_side_of_a_path'),
        ),
    ]
