#!/opt/reelstate/bin/python
"""Exit with 0 if the process of this container answers: a server at /livez, any other on its port for metrics.

Arguments are other URLs; one that answers is enough.
"""

import os
import ssl
import sys
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

TIMEOUT = 2.0


def main() -> None:
    """Exit with what is wrong, unless an address answers."""
    failures = []
    for url in sys.argv[1:] or addresses():
        failure = find_failure(url)
        if not failure:
            return
        failures.append(failure)
    sys.exit("\n".join(failures))


def addresses() -> list[str]:
    """Return the addresses that this process may answer on."""
    scheme = "https" if os.environ.get("REEL_TLS_CERT") else "http"
    port, metrics = os.environ.get("REEL_SERVE_PORT", "8700"), os.environ.get("REEL_METRICS_PORT", "0")
    return [f"{scheme}://127.0.0.1:{port}/livez"] + [f"http://127.0.0.1:{metrics}/metrics"] * (metrics != "0")


def find_failure(url: str) -> str:
    """Return what is wrong with the answer of a URL; empty if nothing is."""
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE  # it is this container's own certificate
    try:
        with build_opener(ProxyHandler({}), HTTPSHandler(context=unverified)).open(url, timeout=TIMEOUT):
            return ""
    except OSError as error:
        return f"{url}: {error}"


if __name__ == "__main__":
    main()
