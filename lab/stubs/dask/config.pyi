from collections.abc import Mapping
from typing import Any

def set(arg: Mapping[str, Any]) -> Any: ...
