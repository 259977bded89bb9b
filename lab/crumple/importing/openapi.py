"""The format of OpenAPI and Swagger documents: how one is known. `openapi_operations` reads it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from crumple.importing import shape
from crumple.importing.import_format import Format
from crumple.importing.recorded import LeftOut, Recorded

# A table of YAML in braces, which is no JSON.
_FLOW_YAML = re.compile(r"\s*\{\s*[\"']?(?:openapi|swagger)[\"']?\s*:")


def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
    """Yield a request for each operation and server. Raises FileInvalid."""
    # Imported here because it takes long, and other formats need neither YAML nor JSON Schema.
    from crumple.importing import openapi_operations

    return openapi_operations.requests(stream, file, left_out)


OPENAPI = Format(
    "openapi",
    requests,
    keys=shape.keys("openapi", "swagger"),
    may_be=lambda sample: _FLOW_YAML.match(sample.text) is not None,
)
