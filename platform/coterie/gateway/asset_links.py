"""``/.well-known/assetlinks.json``: which Android apps may show the phone's page without the browser's address bar.

Digital Asset Links, https://developers.google.com/digital-asset-links/v1/create-statement.
"""

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

SHOWS_ITS_PAGES = "delegate_permission/common.handle_all_urls"


@require_safe
def asset_links(_request: HttpRequest) -> JsonResponse:
    """A statement for each app of ``COTERIE_ANDROID_APPS``; public. Raises Http404 where there is none."""
    if not settings.ANDROID_APPS:
        raise Http404
    statements = [
        {
            "relation": [SHOWS_ITS_PAGES],
            "target": {
                "namespace": "android_app",
                "package_name": package,
                "sha256_cert_fingerprints": [fingerprint],
            },
        }
        for package, fingerprint in settings.ANDROID_APPS.items()
    ]
    return JsonResponse(statements, safe=False)  # a list, as the format requires; its content is public
