"""The files that a spec names, read here: they travel in the spec, and lie on no disk of the load host."""

import base64
from collections.abc import Iterator
from pathlib import Path

from crumple.contract import FileSpec, RequestSpec, TlsSpec, TrialSpec
from crumple.errors import EngineFailed
from crumple.load import varying


def carrying(spec: TrialSpec) -> TrialSpec:
    """Return the spec with what is in the files that it names. Raises EngineFailed for one that is gone."""
    names = dict.fromkeys(
        [*_of_tls(spec.target.tls), *(name for each in spec.requests for name in _of(each))]
    )
    return spec.model_copy(update={"files": tuple(map(_read, names))})


def _of_tls(tls: TlsSpec | None) -> Iterator[str]:
    if tls is None:
        return
    if tls.ca_file is not None:
        yield tls.ca_file
    if tls.client is not None:
        yield from (tls.client.cert_file, tls.client.key_file)


def _of(request: RequestSpec) -> Iterator[str]:
    """Yield the names of the files of a request: of its body, of parts of it, and of lines."""
    if request.body_file is not None:
        yield request.body_file
    parts = request.body_parts or ()
    yield from (part.file for part in parts if part.file is not None)
    if request.varies:
        values = [value for _, value in request.headers]
        texts = [request.path, *values, request.body or "", *(part.text or "" for part in parts)]
        yield from (name for text in texts for name in varying.files_of(text))


def _read(name: str) -> FileSpec:
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise EngineFailed(
            f"cannot read {name}: {error.strerror}", "put it back, and measure again"
        ) from None
    return FileSpec(name=name, base64=base64.b64encode(content).decode())
