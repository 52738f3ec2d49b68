from pathlib import Path

import msgspec
import pytest

from coterie.config.env import Env
from coterie.config.single_sign_on import provider_of
from coterie.core.acting import OperatorRole

SCALED = {
    "COTERIE_MODE": "scaled",
    "COTERIE_DATABASE_URL": "postgresql://u:p@h/n",
    "COTERIE_REDIS_URL": "redis://h",
    "COTERIE_SECRET_KEY": "s",
    "COTERIE_SIGNING_KEY": "00" * 32,
}

PROVIDER = {
    "COTERIE_OIDC_ISSUER": "https://id.example",
    "COTERIE_OIDC_CLIENT_ID": "coterie",
    "COTERIE_OIDC_CLIENT_SECRET": "s",
    "COTERIE_OIDC_VIEWERS": "*",
}


def test_has_a_default_for_everything_in_embedded_mode() -> None:
    env = Env.read({"PATH": "/bin"})
    assert (env.mode, env.state, env.debug) == ("embedded", Path("coterie-state"), False)


def test_reads_what_is_given() -> None:
    env = Env.read({"COTERIE_STATE": "/srv", "COTERIE_DEBUG": "true", "COTERIE_ALLOWED_HOSTS": "a.example, b.example,"})
    assert (env.state, env.debug, env.allowed_hosts) == (Path("/srv"), True, ("a.example", "b.example"))


def test_reads_apps_with_their_certificates() -> None:
    env = Env.read({"COTERIE_ANDROID_APPS": f"org.example.fleet={':'.join(['0f'] * 32)}"})
    assert env.certificates_of_apps() == {"org.example.fleet": ":".join(["0F"] * 32)}


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"COTERIE_STATS": "/srv"}, "COTERIE_STATS"),
        ({"COTERIE_MODE": "huge"}, "^COTERIE_MODE: Invalid enum value 'huge'; it may be embedded or scaled$"),
        ({"COTERIE_DEBUG": "perhaps"}, "^COTERIE_DEBUG: Expected `bool`, got `str`$"),
        ({"COTERIE_SECOND_FACTOR_FOR": "guest"}, "COTERIE_SECOND_FACTOR_FOR: .*viewer or operator or administrator"),
        ({"COTERIE_OIDC_ISSUER": "http://id.example"}, "https"),
        ({"COTERIE_OIDC_ISSUER": "https://id.example"}, "COTERIE_OIDC_CLIENT_ID"),
        ({**PROVIDER, "COTERIE_OIDC_VIEWERS": ""}, "nobody"),
        ({"COTERIE_ANDROID_APPS": "org.example.fleet=AB:CD"}, "COTERIE_ANDROID_APPS"),
        ({"COTERIE_ANDROID_APPS": f"fleet={':'.join(['AB'] * 32)}"}, "COTERIE_ANDROID_APPS"),
        ({"COTERIE_KEEP_HISTORY_DAYS": "7"}, "COTERIE_KEEP_HISTORY_DAYS"),
        ({"COTERIE_TLS_KEY": "key.pem"}, "COTERIE_TLS_CERTIFICATE"),
        ({"COTERIE_DEVICE_CA_KEY": "0f"}, "hexadecimal"),
        ({"COTERIE_DEVICE_CA_CERTIFICATE": "ca.pem", "COTERIE_DEVICE_CA_KEY": "0f" * 32}, "PEM"),
        ({**SCALED, "COTERIE_SIGNING_KEY": "00" * 31}, "^COTERIE_SIGNING_KEY must be 64 hexadecimal digits"),
        ({**SCALED, "COTERIE_SIGNING_KEY": "xy" * 32}, "^COTERIE_SIGNING_KEY must be 64 hexadecimal digits"),
        ({**SCALED, "COTERIE_REDIS_URL": "redis.example:6379"}, "COTERIE_REDIS_URL must look like"),
        ({**SCALED, "COTERIE_DATABASE_URL": "mysql://db.example/coterie"}, "COTERIE_DATABASE_URL"),
        ({**SCALED, "COTERIE_DATABASE_URL": "postgresql://db.example"}, "COTERIE_DATABASE_URL"),
        ({"COTERIE_CLIENT_CERT_HEADER": "Client Cert"}, "^COTERIE_CLIENT_CERT_HEADER: "),
        ({**SCALED, "COTERIE_DEVICE_CERTIFICATES": "offered"}, "COTERIE_DEVICE_CA_KEY"),
        ({name: value for name, value in SCALED.items() if name != "COTERIE_REDIS_URL"}, "COTERIE_REDIS_URL"),
    ],
)
def test_names_what_does_not_fit(environ: dict[str, str], named: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=named):
        Env.read(environ)


def test_a_provider_is_there_where_the_environment_names_it() -> None:
    assert provider_of(Env.read({})) is None
    provider = provider_of(Env.read({**PROVIDER, "COTERIE_OIDC_OPERATORS": "staff, ops"}))
    assert provider is not None
    assert provider.role_of({"groups": ["ops"]}) == OperatorRole.OPERATOR


def test_scaled_mode_needs_its_servers_and_secrets() -> None:
    assert Env.read(SCALED).mode == "scaled"
