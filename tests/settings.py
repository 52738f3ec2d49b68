"""Settings of the test suite: the platform's own, in a state directory per process, with a quick password hash.

They are read before NumPy and PyTorch are, whose threads would wait for one another on cores that many processes share.
"""

import atexit
import os
import shutil
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["COTERIE_STATE"] = tempfile.mkdtemp(prefix="coterie-test-")
atexit.register(shutil.rmtree, os.environ["COTERIE_STATE"], ignore_errors=True)

from coterie.config.settings import *  # noqa: E402, F403

CONSOLE_PAGE = STATE / "console" / "index.html"  # noqa: F405 - the tests do not depend on what has been built
REQUESTS_PER_MINUTE = 1_000_000
WHITENOISE_AUTOREFRESH = True  # else each client of a test looks through all static files when it is made
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SPOOL.mkdir(parents=True, exist_ok=True)  # noqa: F405 - as the server does
atexit.register(shutil.rmtree, SPOOL.parent, ignore_errors=True)  # noqa: F405
