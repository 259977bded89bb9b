from collections.abc import Iterator
from typing import Any, Protocol

class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...

def items(source: _Readable, prefix: str, *, use_float: bool = ...) -> Iterator[Any]: ...
