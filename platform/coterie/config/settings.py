"""Django settings; everything that differs between the two modes is decided here, from `Env`."""

from coterie.config.env import Env
from coterie.config.secret import load_or_make_secret

ENV = Env.read()
STATE = ENV.state.absolute()

SECRET_KEY = ENV.secret_key or load_or_make_secret(STATE / "secret-key")
DEBUG = ENV.debug
ALLOWED_HOSTS = list(ENV.allowed_hosts)
ROOT_URLCONF = "coterie.config.urls"
ASGI_APPLICATION = "coterie.config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.Operator"
USE_TZ = True
TIME_ZONE = "UTC"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "coterie.config",
    "coterie.core",
    "coterie.gateway",
    "coterie.accounts",
    "coterie.fleet",
    "coterie.registry",
    "coterie.federations",
    "coterie.rounds",
    "coterie.cloud_training",
]
