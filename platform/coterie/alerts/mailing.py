"""One mail through the platform's mail server, over within a deadline whatever that server does."""

import threading
from queue import Empty, SimpleQueue
from smtplib import SMTPException

from django.core.mail import EmailMessage

DEADLINE_S = 30.0
"""For all recipients and everything that the mail server says."""


def send_mail(mail: EmailMessage, *, deadline_s: float = DEADLINE_S) -> str:
    """Send a mail; returns what was wrong, blank: the server has accepted it.

    smtplib bounds each read and not all of them: a server that sends a byte at a time blocks one thread only.
    """
    answers: SimpleQueue[str] = SimpleQueue()

    def send() -> None:
        try:
            mail.send()
        except (SMTPException, OSError, ValueError) as error:
            answers.put((str(error) or type(error).__name__)[:400])
        else:
            answers.put("")

    threading.Thread(target=send, name="mail", daemon=True).start()
    try:
        return answers.get(timeout=deadline_s)
    except Empty:
        return "the mail server took too long"
