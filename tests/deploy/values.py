"""Values for which the chart is rendered: each switch of it on and off at least once."""

from collections.abc import Mapping, Sequence
from typing import Any

# Any: values of YAML, a dot of a name's path written as two underscores.
OVERRIDES: Sequence[Mapping[str, Any]] = [
    {},
    {"bundled__enabled": True, "monitoring__podMonitor": True, "objectStorage__keyId": "k"},
    {"bundled__enabled": True, "bundled__objectStorage": True},
    {"deviceCertificates": "offered"},
    {"web__autoscaling__enabled": False, "worker__autoscaling__enabled": False, "networkPolicy__enabled": False},
    {"releases__onlineKeySecret": "online-key"},
    {"worker__autoscaling__waitingEach": 20},
    {"web__autoscaling__socketsEach": 5000, "settings": {"COTERIE_KEEP_VERSIONS": "10"}, "ingress__enabled": False},
]
