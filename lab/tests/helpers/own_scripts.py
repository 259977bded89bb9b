"""What is left of a page without what crumple itself puts into it as a script: nothing else may be one."""

import re

_DOCUMENT = re.compile(
    r'<script type="application/gzip;base64" id="crumple-document">[0-9A-Za-z+/=\n]*</script>'
)


def without(page: str) -> str:
    """The page without its document, which a browser does not run."""
    return _DOCUMENT.sub("", page, count=1)
