from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Self

from distributed.core import Status

class Security:
    tls_ca_file: str
    tls_client_key: str
    tls_worker_key: str
    require_encryption: bool
    def __init__(self, require_encryption: bool | None = None, **parts: str) -> None: ...
    @classmethod
    def temporary(cls) -> Self: ...
    def get_listen_args(self, role: str) -> dict[str, Any]: ...
    def get_connection_args(self, role: str) -> dict[str, Any]: ...

class Server:
    address: str
    status: Status
    def __await__(self) -> Generator[Any, None, Self]: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *raised: object) -> None: ...
    async def finished(self) -> None: ...
    async def close(self) -> Any: ...
    def start_http_server(self, *arguments: Any, **named: Any) -> None: ...

class Scheduler(Server):
    def __init__(
        self,
        *,
        host: str,
        port: int,
        protocol: str | None = None,
        security: Security | None = None,
        dashboard: bool | None = None,
    ) -> None: ...

class _TaskState:
    state: str

class _WorkerState:
    tasks: Mapping[str, _TaskState]

class Worker(Server):
    name: str
    state: _WorkerState
    def __init__(
        self,
        scheduler_ip: str,
        *,
        name: str | None = None,
        host: str | None = None,
        security: Security | None = None,
        nthreads: int | None = None,
        resources: Mapping[str, float] | None = None,
        memory_limit: int | str = "auto",
        local_directory: str | None = None,
        death_timeout: float | None = None,
    ) -> None: ...
    def get_current_task(self) -> str: ...
    def log_event(self, topic: str, msg: Any) -> None: ...

class Future:
    key: str
    status: str
    def result(self, timeout: float | None = None) -> Any: ...

class Client:
    status: str
    def __init__(
        self,
        address: str,
        *,
        timeout: float = ...,
        security: Security | None = None,
        set_as_default: bool = True,
        direct_to_workers: bool | None = None,
    ) -> None: ...
    def submit(
        self,
        func: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        workers: Sequence[str] | None = None,
        allow_other_workers: bool = False,
        resources: Mapping[str, float] | None = None,
        retries: int | None = None,
        pure: bool = True,
        **kwargs: Any,
    ) -> Future: ...
    def scheduler_info(self) -> dict[str, Any]: ...
    def subscribe_topic(self, topic: str, handler: Callable[[Any], object]) -> None: ...
    def close(self, timeout: float = ...) -> None: ...

class KilledWorker(Exception): ...

def get_worker() -> Worker: ...
