"""Fill a platform with a fleet that looks like a real one: ``... seed_large_fleet DIRECTORY DEVICES``.

The settings come from the environment, as the platform's own do. Prints what `tests.system.seed` gives.
"""

import sys
from io import StringIO

import django
import msgspec


def main(devices: int) -> None:
    """Django is set up."""
    from django.core.management import call_command
    from django.utils import timezone

    from coterie.accounts.models import Operator
    from coterie.accounts.services import issue_token
    from tests.system.seed import Seeded

    call_command("seed_fleet", devices=devices, stdout=StringIO())
    administrator = Operator.objects.filter(role="administrator").earliest("pk")
    token = issue_token(operator=administrator, name="lists", now=timezone.now()).secret
    sys.stdout.write(msgspec.json.encode(Seeded(token=token, pairs=(), held_out="")).decode())


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[2]))
