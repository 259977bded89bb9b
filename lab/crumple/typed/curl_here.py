"""The curl of this machine: the name that it sends, and what it can decompress.

Only its version is asked for.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

# Seconds to wait for `curl --version`: a busy machine takes some to start a program.
_WITHIN_S = 10.0
# In the order in which curl asks for them, by the feature that each needs.
_ENCODINGS = {"libz": "deflate, gzip", "brotli": "br", "zstd": "zstd"}


@dataclass(frozen=True)
class CurlHere:
    """The curl of this machine."""

    user_agent: str = ""
    """Empty if there is no curl here."""
    encodings: str = "deflate, gzip, br, zstd"


@cache
def installed_curl() -> CurlHere:
    """Return the curl that a shell would run."""
    path = shutil.which("curl")
    if path is None:
        return CurlHere()
    try:
        said = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_WITHIN_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return CurlHere()
    return curl_of_version(said)


def curl_of_version(said: str) -> CurlHere:
    """Return the curl that says this of its version."""
    version = re.match(r"curl (\d[\w.-]*)", said)
    if version is None:
        return CurlHere()
    features = {word for line in said.splitlines() for word in line.split() if line.startswith("Features:")}
    encodings = [names for feature, names in _ENCODINGS.items() if feature in features]
    return CurlHere(f"curl/{version[1]}", ", ".join(encodings))
