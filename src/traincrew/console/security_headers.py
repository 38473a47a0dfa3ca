"""Headers of every response: what the page may load, and who may embed it. Pure."""

from __future__ import annotations

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
"""For responses that are not the page: a browser that shows one executes nothing."""


def page_policy(nonce: str, host: str) -> str:
    """For the page. Scripts come from files of the console alone, and no request goes elsewhere.

    Older browsers do not count WebSockets as 'self', hence the address.
    """
    directives = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": f"'self' 'nonce-{nonce}'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "connect-src": f"'self' ws://{host} wss://{host}",
        "worker-src": "'self'",
        "frame-src": "'self'",
        "manifest-src": "'self'",
        "base-uri": "'self'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())
