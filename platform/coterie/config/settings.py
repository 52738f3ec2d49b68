"""Django settings; everything that differs between the two modes is decided here, from `Env`."""

import os
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

from coterie import gateway
from coterie.config.database import postgresql, sqlite
from coterie.config.env import Env
from coterie.config.single_sign_on import provider_of
from coterie.config.steady_time import every
from coterie.config.stores import stored_in
from coterie.core.secret import load_or_make
from coterie.gateway.door.spool import default_root
from coterie.gateway.phone_headers import add_phone_headers

ENV = Env.read()
EMBEDDED = ENV.mode == "embedded"
STATE = ENV.state.absolute()
STATE.mkdir(mode=0o700, parents=True, exist_ok=True)

SECRET_KEY = ENV.secret_key or load_or_make(STATE / "secret-key", size_bytes=48).hex()
SIGNING_KEY = ENV.signing_key
DEVICE_CERTIFICATES = ENV.device_certificates
DEVICE_CERTIFICATE_DAYS = ENV.device_certificate_days
CLIENT_CERT_HEADER = ENV.client_cert_header.lower().encode()
DEVICE_CA_KEY = ENV.device_ca_key
DEVICE_CA_CERTIFICATE = ENV.device_ca_certificate
TLS_CERTIFICATE = ENV.tls_certificate
TLS_KEY = ENV.tls_key
DEBUG = ENV.debug
PUBLIC_URL = ENV.public_url.rstrip("/")
PUBLIC_HTTPS = PUBLIC_URL.startswith("https:")
TRUSTED_PROXIES = ENV.trusted_proxies
STUN = ENV.stun
ALLOWED_HOSTS = [*ENV.allowed_hosts, *filter(None, [urlsplit(PUBLIC_URL).hostname])]
ROOT_URLCONF = "coterie.config.urls"
ASGI_APPLICATION = "coterie.config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.Operator"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
"""Of the console and the pages to sign in: as the cookie says that the console sets, else as the browser asks."""
LOCALE_PATHS = [Path(gateway.__path__[0]).parent / "locale"]

DATABASES = {"default": sqlite(STATE / "coterie.sqlite3") if EMBEDDED else postgresql(ENV.database_url)}

INSTALLED_APPS = [
    "django.contrib.admin",
    "coterie.accounts",  # before Django's, whose commands it replaces by those that the audit log tells of
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "coterie.config",
    "coterie.demo",
    "coterie.simulation",
    "coterie.seeding",
    "coterie.gateway",
    "coterie.audit",
    "coterie.webhooks",
    "coterie.fleet",
    "coterie.registry",
    "coterie.federations",
    "coterie.transfer",
    "coterie.rollouts",
    "coterie.agent_rollouts",
    "coterie.fleet_evaluation",
    "coterie.alliances",
    "coterie.speeds",
    "coterie.device_logs",
    "coterie.privacy",
    "coterie.secure_sums",
    "coterie.analytics",
    "coterie.merging",
    "coterie.rounds",
    "coterie.cloud_training",
    "coterie.cluster",
    "coterie.twin",
    "coterie.simulation_runs",
    "coterie.exports",
    "coterie.repairs",
    "coterie.alerts",
    "coterie.owners",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "coterie.gateway.page_security.ContentSecurityPolicy",
    "coterie.gateway.page_security.SecureCookies",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "coterie.gateway.compression.CompressedJson",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "coterie.accounts.permissions.NobodyYet",
    "coterie.accounts.browsers.LiveSessions",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

SINGLE_SIGN_ON = provider_of(ENV)
AUTHENTICATION_BACKENDS = ["coterie.accounts.passwords.PasswordBackend"]
if SINGLE_SIGN_ON is not None:
    AUTHENTICATION_BACKENDS.insert(0, "coterie.accounts.openid.OpenIdBackend")
PASSWORD_HASHERS = ["coterie.accounts.hashing.PatientHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/sign-in/"
SECOND_FACTOR_FOR = ENV.second_factor_for
WEBHOOK_HOSTS = ENV.webhook_hosts
ANDROID_APPS = ENV.certificates_of_apps()
EMAIL_HOST, EMAIL_PORT = ENV.email_host, ENV.email_port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = ENV.email_user, ENV.email_password
EMAIL_USE_TLS, EMAIL_USE_SSL = ENV.email_security == "starttls", ENV.email_security == "tls"
EMAIL_TIMEOUT = 10  # seconds for each thing that the server says; `coterie.alerts.sending` bounds them together
DEFAULT_FROM_EMAIL = ENV.email_from
REQUESTS_PER_MINUTE = ENV.requests_per_minute
DEVICE_REQUESTS_PER_MINUTE = ENV.device_requests_per_minute
CHECK_INS_PER_SECOND = ENV.check_ins_per_second
CREDENTIAL_DAYS = ENV.credential_days
KEEP_VERSIONS = ENV.keep_versions
KEEP_EVERY = ENV.keep_every
KEEP_HISTORY_DAYS = ENV.keep_history_days
QUARANTINE_AFTER = ENV.quarantine_after
EXPORTERS = ENV.exporters
TENSORBOARD_DIR = ENV.tensorboard_dir.absolute() if ENV.tensorboard_dir is not None else STATE / "tensorboard"
MLFLOW_URL, MLFLOW_TOKEN = ENV.mlflow_url, ENV.mlflow_token
WANDB_MODE, WANDB_URL, WANDB_KEY = ENV.wandb_mode, ENV.wandb_url, ENV.wandb_key
WANDB_PROJECT, WANDB_ENTITY = ENV.wandb_project, ENV.wandb_entity
WANDB_DIR = ENV.wandb_dir.absolute() if ENV.wandb_dir is not None else STATE / "wandb"
TELEMETRY = ENV.telemetry
METRICS_HOST, METRICS_PORT = ENV.metrics_host, ENV.metrics_port
CLUSTER_HOST = ENV.cluster_host or socket.gethostname()
CLUSTER_RACK = ENV.cluster_rack
CLUSTER_ADDRESS = ENV.cluster_address
CLUSTER_PLACES = ENV.cluster_places
CLUSTER_QUOTAS = ENV.quotas()
SIMULATIONS_AT_ONCE = ENV.simulations_at_once
CLUSTER_LAUNCHER = ENV.cluster_launcher
CLUSTER_SHARED = ENV.cluster_shared.absolute() if ENV.cluster_shared is not None else None
CLUSTER_IMAGE, CLUSTER_CLAIM = ENV.cluster_image, ENV.cluster_claim
CLUSTER_SBATCH, CLUSTER_PYTHON = ENV.cluster_sbatch, ENV.cluster_python or sys.executable
COPIES = tuple(copy.absolute() for copy in ENV.copies)
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_HTTPS  # and whenever a request came over TLS, see SecureCookies
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
PASSWORD_RESET_TIMEOUT = 24 * 3600  # seconds that a one-time sign-in link lasts

STATIC_URL = "/static/"
CONSOLE_PAGE = Path(gateway.__path__[0], "static", "console", "index.html")  # `make console` writes it
PHONE_PAGE = Path(gateway.__path__[0], "static", "phone", "index.html")  # `make phone` writes it
WHITENOISE_USE_FINDERS = True  # no collectstatic: files are served from where the packages keep them
WHITENOISE_AUTOREFRESH = False
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/(console|phone)/assets/"  # the build names them by their content
WHITENOISE_ADD_HEADERS_FUNCTION = add_phone_headers

STORES = ("default", "updates", "portions", "uploads", "partials", "vectors", "arriving-portions", "releases")
STORAGES = {
    **{alias: stored_in("blobs" if alias == "default" else alias, ENV, STATE) for alias in STORES},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
PRESIGNED_DOWNLOADS = ENV.downloads == "presigned"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 << 20  # bytes of a form or JSON body; files of a multipart body go to disk
FILE_UPLOAD_MAX_MEMORY_SIZE = 1 << 20  # bytes
SPOOL = (ENV.spool.absolute() if ENV.spool else default_root(STATE)) / str(os.getpid())  # its server makes it
SPOOL_BYTES = ENV.spool_bytes
FILE_UPLOAD_TEMP_DIR = SPOOL
SILENCED_SYSTEM_CHECKS = ["files.E001"]  # only servers need it, and no command shall leave a directory behind

_LOCAL_CACHE = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
_REDIS_CACHE = {
    "BACKEND": "coterie.gateway.shared_cache.SharedCache",
    "LOCATION": ENV.redis_url,
    "KEY_PREFIX": "coterie",
}
CACHES = {
    "default": {**_LOCAL_CACHE, "OPTIONS": {"MAX_ENTRIES": 10_000}} if EMBEDDED else _REDIS_CACHE,
    # Apart, so that a flood of addresses to be counted does not push it out.
    "pulse": {**_LOCAL_CACHE, "LOCATION": "pulse"} if EMBEDDED else _REDIS_CACHE,
}

CHANNEL_LAYERS = {
    "default": {"BACKEND": "coterie.gateway.channel_layer.ThreadSafeChannelLayer"}
    if EMBEDDED
    else {"BACKEND": "coterie.gateway.relayed_layer.RelayedChannelLayer", "CONFIG": {"url": ENV.redis_url}}
}

CELERY_BROKER_URL = "memory://embedded" if EMBEDDED else ENV.redis_url
CELERY_BROKER_TRANSPORT = f"coterie.config.{'event' if EMBEDDED else 'redis'}_transport.Transport"
# seconds until a task that a killed worker held is sent again; the sweep is quicker
CELERY_BROKER_TRANSPORT_OPTIONS = {} if EMBEDDED else {"visibility_timeout": 3600}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 16 if EMBEDDED else 1
CELERY_WORKER_CONCURRENCY = 4
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = not EMBEDDED
CELERY_TASK_SEND_SENT_EVENT = False
CELERY_BEAT_SCHEDULER = "coterie.config.elected_beat:ElectedScheduler"
CELERY_BEAT_ENABLE_REMOTE_CONTROL = False
# What the database knows to be due is found again within so many seconds, whatever messages were lost. A sweep each
# second costs about a hundredth of a core, and only rounds and transfers have deadlines of seconds. In embedded mode
# what has nothing to do rests (coterie.core.resting).
PERIODIC_TASKS = {
    "coterie.fleet.tasks.settle": 1.0,
    "coterie.rounds.tasks.sweep": 1.0,
    "coterie.merging.tasks.sweep": 1.0,
    "coterie.analytics.tasks.sweep": 1.0,
    "coterie.transfer.tasks.sweep": 1.0,
    "coterie.owners.tasks.sweep": 5.0,
    "coterie.cloud_training.tasks.sweep": 5.0,
    "coterie.cloud_training.tasks.place": 2.0,
    "coterie.twin.tasks.look": 5.0,
    "coterie.simulation_runs.tasks.sweep": 5.0,
    "coterie.exports.tasks.sweep": 15.0,
    "coterie.fleet_evaluation.tasks.sweep": 5.0,
    "coterie.alliances.tasks.sweep": 5.0,
    "coterie.device_logs.tasks.sweep": 60.0,
    "coterie.webhooks.tasks.sweep": 10.0,
    "coterie.alerts.tasks.sweep": 15.0,
    "coterie.registry.tasks.scrub": 60.0,
    "coterie.rounds.tasks.scrub": 60.0,
    "coterie.rounds.tasks.steer": 60.0,
    "coterie.accounts.tasks.tidy": 600.0,
    "coterie.registry.tasks.tidy": 600.0,
    "coterie.fleet.tasks.count": 10.0,
    "coterie.agent_rollouts.tasks.advance": 10.0,
    "coterie.fleet.tasks.tidy": 600.0,
    "coterie.merging.tasks.tidy": 600.0,
    "coterie.speeds.tasks.sum_up": 600.0,
    "coterie.transfer.tasks.tidy": 600.0,
    "coterie.config.tasks.prune_history": 600.0,
    "coterie.rounds.tasks.tidy": 600.0,  # a laptop's platform may not live for an hour at a time
}
CELERY_BEAT_SCHEDULE = {
    name: {"task": name, "schedule": every(every_s), "options": {"expires": max(10.0, every_s / 2)}}
    for name, every_s in PERIODIC_TASKS.items()
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "coterie.accounts.authentication.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["coterie.accounts.permissions.SignedIn"],
    "DEFAULT_THROTTLE_CLASSES": ["coterie.gateway.rate_limit.PerActor"],
    "DEFAULT_PARSER_CLASSES": ["coterie.core.json_body.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "coterie.gateway.pagination.Pages",
    "PAGE_SIZE": 50,
    "DEFAULT_SCHEMA_CLASS": "coterie.core.openapi.Schema",
    "EXCEPTION_HANDLER": "coterie.gateway.rest_errors.problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Coterie",
    "DESCRIPTION": "The operators' interface: devices, models, federations and rounds.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # Opened one by one: all of them at once take a browser seconds, and who hears the page minutes.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "docExpansion": "none", "defaultModelsExpandDepth": -1},
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "coterie.core.openapi.describe"],
    "ENUM_NAME_OVERRIDES": {
        "DeviceWork": [(name, name) for name in ("predict", "step")],
        "OperatorRole": [(name, name) for name in ("viewer", "operator", "administrator")],
        "Scope": [(name, name) for name in ("read", "fleet", "models", "federations", "settings")],
        "ModelRole": "coterie.registry.models.Role",
        "DeliveryState": "coterie.webhooks.models.Delivery.State",
        "WebhookEvent": "coterie.webhooks.operator_api.CHOOSABLE",
        "DeliveryEvent": "coterie.webhooks.models.Event",
        "AlertChannelKind": "coterie.alerts.models.Channel.Kind",
        "AlertRuleKind": "coterie.alerts.models.Rule.Kind",
        "AlertChange": "coterie.alerts.models.Notice.Change",
        "Severity": "coterie.alerts.models.Severity",
        "AlertNoticeState": "coterie.alerts.operator_api.STATES",
        "DeviceState": "coterie.fleet.models.Device.State",
        "PairState": "coterie.registry.models.ModelPair.State",
        "FederationState": "coterie.federations.models.Federation.State",
        "QuestionState": "coterie.analytics.models.Question.State",
        "RolloutState": "coterie.rollouts.models.Rollout.State",
        "AgentRolloutState": "coterie.agent_rollouts.models.AgentRollout.State",
        "DeviceUpdateState": "coterie.agent_rollouts.models.DeviceUpdate.State",
        "EvaluationState": "coterie.fleet_evaluation.models.Evaluation.State",
        "AllianceState": "coterie.alliances.models.Alliance.State",
        "DeviceLogState": "coterie.device_logs.models.DeviceLog.State",
        "DeviceLogLevel": "coterie.device_logs.models.DeviceLogLine.Level",
        "RoundState": "coterie.rounds.models.Round.State",
        "AssignmentState": "coterie.rounds.models.Assignment.State",
        "HelpRequestState": "coterie.transfer.models.HelpRequest.State",
        "TransferState": "coterie.transfer.models.Transfer.State",
        "GangState": "coterie.cluster.models.Gang.State",
        "JobState": "coterie.cloud_training.models.TrainingJob.State",
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "{asctime} {levelname:<7} {name}: {message}", "style": "{"},
        "json": {"()": "coterie.config.monitoring.json_lines.JsonLines"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": ENV.log}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # What is wrong with a request its sender is told; who does it again and again, the door logs once.
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "ERROR"},
        # One line for each batch of spans that a collector did not take, not one for each attempt.
        "opentelemetry.exporter": {"level": "ERROR"},
        "coterie": {"level": "INFO"},
    },
}
