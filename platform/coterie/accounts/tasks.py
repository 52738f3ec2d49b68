"""The jobs of accounts, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.accounts import browsers, passkey_challenges


@shared_task(name="coterie.accounts.tasks.tidy")
def tidy() -> None:
    """Forget sessions and challenges that have expired; runs periodically."""
    now = timezone.now()
    browsers.forget_old_sessions(now=now)
    passkey_challenges.forget_old_challenges(now=now)
