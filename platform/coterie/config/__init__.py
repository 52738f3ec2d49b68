"""Settings, URLs, ASGI and Celery: the only place that knows which mode the platform runs in."""
