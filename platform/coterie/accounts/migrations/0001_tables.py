import coterie.accounts.models
import coterie.core.acting
import coterie.core.migrating
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('accounts', '0001_initial'),
        ('accounts', '0002_sign_in_links_once'),
        ('accounts', '0003_second_factors_and_sessions'),
        ('accounts', '0004_organisations_and_projects'),
        ('accounts', '0005_passkeys'),
        ('accounts', '0006_custom_roles'),
        ('accounts', '0007_sign_on_roles'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        coterie.core.migrating.CreateModels(
            models=[
                migrations.CreateModel(
                    name='Operator',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('password', models.CharField(max_length=128, verbose_name='password')),
                        ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                        ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                        ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                        ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                        ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                        ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                        ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                        ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                        ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                        ('role', models.CharField(blank=True, choices=[('', 'none'), ('viewer', 'viewer'), ('operator', 'operator'), ('administrator', 'administrator')], default=coterie.core.acting.OperatorRole['VIEWER'], max_length=15)),
                        ('sign_on_subject', models.CharField(blank=True, max_length=500, null=True, unique=True)),
                        ('links_used', models.PositiveIntegerField(default=0, editable=False)),
                        ('passkey_handle', models.BinaryField(max_length=64, null=True, unique=True)),
                        ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                        ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                    ],
                    options={
                        'verbose_name': 'user',
                        'verbose_name_plural': 'users',
                        'ordering': ['username'],
                        'abstract': False,
                        'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['', 'viewer', 'operator', 'administrator'])), name='operator_role_known')],
                    },
                    managers=[
                        ('objects', coterie.accounts.models.OperatorManager()),
                    ],
                ),
                migrations.CreateModel(
                    name='Organisation',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=100, unique=True)),
                        ('created_at', models.DateTimeField()),
                        ('archived_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['name'],
                    },
                ),
                migrations.CreateModel(
                    name='Project',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='projects', to='accounts.organisation')),
                        ('name', models.CharField(max_length=100)),
                        ('created_at', models.DateTimeField()),
                        ('archived_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['organisation__name', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('organisation', 'name'), name='project_name_once')],
                    },
                ),
                migrations.CreateModel(
                    name='CustomRole',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='custom_roles', to='accounts.organisation')),
                        ('name', models.CharField(max_length=100)),
                        ('actions', models.JSONField(default=list)),
                        ('made_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['organisation__name', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('organisation', 'name'), name='custom_role_name_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Grant',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('operator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to=settings.AUTH_USER_MODEL)),
                        ('organisation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='accounts.organisation')),
                        ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='accounts.project')),
                        ('role', models.CharField(choices=[('viewer', 'viewer'), ('operator', 'operator'), ('administrator', 'administrator')], max_length=15)),
                        ('custom_role', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='accounts.customrole')),
                        ('by_sign_on', models.BooleanField(db_default=False, default=False)),
                        ('given_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['operator__username', 'id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('organisation', None), ('project__isnull', False)), models.Q(('organisation__isnull', False), ('project', None)), _connector='OR'), name='grant_in_one'), models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'operator', 'administrator'])), name='grant_role_known'), models.UniqueConstraint(fields=('operator', 'project'), name='one_role_in_a_project'), models.UniqueConstraint(fields=('operator', 'organisation'), name='one_role_in_an_organisation')],
                    },
                ),
                migrations.CreateModel(
                    name='SignOnRole',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('claim_value', models.CharField(max_length=200)),
                        ('organisation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.organisation')),
                        ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.project')),
                        ('role', models.CharField(choices=[('viewer', 'viewer'), ('operator', 'operator'), ('administrator', 'administrator')], max_length=15)),
                        ('custom_role', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.customrole')),
                        ('made_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['claim_value', 'id'],
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('organisation', None), ('project__isnull', False)), models.Q(('organisation__isnull', False), ('project', None)), _connector='OR'), name='sign_on_role_in_one'), models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'operator', 'administrator'])), name='sign_on_role_known'), models.UniqueConstraint(fields=('claim_value', 'project'), name='sign_on_role_once_in_a_project'), models.UniqueConstraint(fields=('claim_value', 'organisation'), name='sign_on_role_once_in_an_organisation')],
                    },
                ),
                migrations.CreateModel(
                    name='SavedFilter',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('operator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_filters', to=settings.AUTH_USER_MODEL)),
                        ('table', models.CharField(max_length=40)),
                        ('name', models.CharField(max_length=100)),
                        ('query', models.JSONField(blank=True, default=dict)),
                    ],
                    options={
                        'ordering': ['table', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('operator', 'table', 'name'), name='saved_filter_once')],
                    },
                ),
                migrations.CreateModel(
                    name='ApiToken',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('operator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                        ('name', models.CharField(max_length=100)),
                        ('scopes', models.JSONField(default=coterie.accounts.models.every_scope)),
                        ('project', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.project')),
                        ('secret_hash', models.CharField(editable=False, max_length=64, unique=True)),
                        ('created_at', models.DateTimeField()),
                        ('expires_at', models.DateTimeField(blank=True, null=True)),
                        ('last_used_at', models.DateTimeField(blank=True, null=True)),
                        ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['-created_at', '-id'],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('revoked_at', None)), fields=('operator', 'name'), name='one_live_token_of_a_name')],
                    },
                ),
                migrations.CreateModel(
                    name='SecondFactor',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('operator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='second_factors', to=settings.AUTH_USER_MODEL)),
                        ('secret', models.BinaryField(max_length=20)),
                        ('last_step', models.BigIntegerField(default=-1, editable=False)),
                        ('created_at', models.DateTimeField()),
                        ('confirmed_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(condition=models.Q(('confirmed_at__isnull', False)), fields=('operator',), name='one_second_factor'), models.UniqueConstraint(condition=models.Q(('confirmed_at__isnull', True)), fields=('operator',), name='one_second_factor_begun')],
                    },
                ),
                migrations.CreateModel(
                    name='RecoveryCode',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('operator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
                        ('code_hash', models.CharField(editable=False, max_length=64)),
                        ('used_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('operator', 'code_hash'), name='recovery_code_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Passkey',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('operator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passkeys', to=settings.AUTH_USER_MODEL)),
                        ('name', models.CharField(max_length=100)),
                        ('credential', models.BinaryField(max_length=1023, unique=True)),
                        ('public_key', models.BinaryField()),
                        ('sign_count', models.BigIntegerField(default=0, editable=False)),
                        ('created_at', models.DateTimeField()),
                        ('last_used_at', models.DateTimeField(blank=True, null=True)),
                    ],
                    options={
                        'ordering': ['name', 'id'],
                        'constraints': [models.UniqueConstraint(fields=('operator', 'name'), name='passkey_name_once')],
                    },
                ),
                migrations.CreateModel(
                    name='PasskeyChallenge',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('value', models.BinaryField(max_length=64, unique=True)),
                        ('purpose', models.CharField(choices=[('register', 'Register'), ('sign_in', 'Sign In'), ('prove', 'Prove')], max_length=8)),
                        ('operator', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='passkey_challenges', to=settings.AUTH_USER_MODEL)),
                        ('made_at', models.DateTimeField(db_index=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='BrowserSession',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('operator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='browser_sessions', to=settings.AUTH_USER_MODEL)),
                        ('key', models.CharField(editable=False, max_length=40, unique=True)),
                        ('address', models.CharField(blank=True, max_length=45)),
                        ('browser', models.CharField(blank=True, max_length=300)),
                        ('began_at', models.DateTimeField()),
                        ('seen_at', models.DateTimeField()),
                    ],
                    options={
                        'ordering': ['-seen_at', '-id'],
                    },
                ),
            ],
        ),
    ]
