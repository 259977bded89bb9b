"""What is left of a page without what crumple itself puts into it as a script: nothing else may be one."""

import re

from crumple.drawing import page as pages

_SCRIPT = f'<script type="module">{pages.SCRIPT}</script>'
_DOCUMENT = re.compile(
    r'<script type="application/gzip;base64" id="crumple-document">[0-9A-Za-z+/=\n]*</script>'
)


def without(page: str) -> str:
    """The page without its script, and without its document, which a browser does not run."""
    return _DOCUMENT.sub("", page.replace(_SCRIPT, "", 1), count=1)
