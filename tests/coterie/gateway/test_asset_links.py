import pytest
from django.test import Client
from pytest_django.fixtures import Settings

PATH = "/.well-known/assetlinks.json"
FINGERPRINT = ":".join(["AB"] * 32)


def test_each_app_of_the_setting_may_show_the_page(settings: Settings) -> None:
    settings.ANDROID_APPS = {"org.example.fleet": FINGERPRINT}
    answer = Client().get(PATH)
    assert answer["Content-Type"] == "application/json"
    assert answer.json() == [
        {
            "relation": ["delegate_permission/common.handle_all_urls"],
            "target": {
                "namespace": "android_app",
                "package_name": "org.example.fleet",
                "sha256_cert_fingerprints": [FINGERPRINT],
            },
        }
    ]


@pytest.mark.parametrize(("method", "status"), [("get", 404), ("post", 405)])
def test_without_an_app_there_is_nothing(settings: Settings, method: str, status: int) -> None:
    settings.ANDROID_APPS = {}
    assert getattr(Client(), method)(PATH).status_code == status
