"""Small servers whose requests wait for something until they are released, for tests of what runtimes say.

On every path but /release a request waits until /release is asked: how busy the machine is changes nothing.
"""

import contextlib
import http.client
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest
from crumple.asked import all_sources
from crumple.machine import process_tree, tcp_tables
from crumple.observation.answers import SourceAnswer
from crumple.observation.at_load import Peer

LIMIT_S = 60.0

# A pool of 4 threads. The last class has the name of one of HikariCP, as its frames are known by their names.
JAVA = """
package com.zaxxer.hikari.pool;
import com.sun.net.httpserver.*;
import java.net.*;
import java.util.concurrent.*;
public class Shop {
  static final CountDownLatch released = new CountDownLatch(1);
  static final Object lock = new Object();
  static final Semaphore permits = new Semaphore(1);
  static final HikariPool pool = new HikariPool();
  static void work() throws Exception { released.await(); }
  static void handle(HttpExchange x) throws Exception {
    switch (x.getRequestURI().getPath()) {
      case "/release": released.countDown(); break;
      case "/pool": Object c = pool.getConnection(); try { work(); } finally { pool.free.add(c); } break;
      case "/lock": synchronized (lock) { work(); } break;
      case "/permit": permits.acquire(); try { work(); } finally { permits.release(); } break;
      default: work();
    }
    x.sendResponseHeaders(204, -1); x.close();
  }
  public static void main(String[] a) throws Exception {
    HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(a[0])), 1024);
    Executor workers = Executors.newFixedThreadPool(4), others = Executors.newCachedThreadPool();
    s.setExecutor(workers);
    HttpServer r = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(a[1])), 16);
    HttpHandler handler = x -> { try { handle(x); } catch (Exception e) { throw new RuntimeException(e); } };
    s.createContext("/", handler); r.createContext("/", handler); r.setExecutor(others);
    s.start(); r.start();
  }
}
class HikariPool {
  final BlockingQueue<Object> free = new ArrayBlockingQueue<>(1);
  HikariPool() { free.add(new Object()); }
  Object getConnection() throws Exception { return free.poll(600, TimeUnit.SECONDS); }
}
"""

GO = """
package main
import ("net/http"; _ "net/http/pprof"; "os"; "sync")
var mu sync.Mutex
var permits = make(chan struct{}, 1)
var released = make(chan struct{})
func main() {
  work := func() { var one sync.WaitGroup; one.Add(1); go func() { <-released; one.Done() }(); one.Wait() }
  http.HandleFunc("/lock", func(w http.ResponseWriter, r *http.Request) { mu.Lock(); work(); mu.Unlock() })
  http.HandleFunc("/permit", func(w http.ResponseWriter, r *http.Request) {
    permits <- struct{}{}; work(); <-permits
  })
  http.HandleFunc("/release", func(w http.ResponseWriter, r *http.Request) { close(released) })
  go http.ListenAndServe("127.0.0.1:"+os.Args[2], nil)
  http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
"""

PYTHON = """
import http.server, sys, threading
from concurrent.futures import ThreadPoolExecutor
released, lock, permits = threading.Event(), threading.Lock(), threading.Semaphore(1)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/release":
            released.set()
        elif self.path == "/lock":
            with lock:
                released.wait()
        elif self.path == "/permit":
            with permits:
                released.wait()
        else:
            released.wait()
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass
class Pooled(http.server.HTTPServer):
    workers = ThreadPoolExecutor(4)
    def process_request(self, request, address):
        self.workers.submit(self.serve, request, address)
    def serve(self, request, address):
        try:
            self.finish_request(request, address)
        finally:
            self.shutdown_request(request)
other = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
threading.Thread(target=other.serve_forever, daemon=True).start()
Pooled(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@contextlib.contextmanager
def running(command: Callable[[str, str], Sequence[str]], cwd: Path) -> Iterator[tuple[int, int, int]]:
    """Run a server that listens on two ports; yield its pid, and the ports of its work and of /release."""
    ports = process_tree.free_port(), process_tree.free_port()
    with subprocess.Popen(command(*map(str, ports)), cwd=cwd) as server:
        try:
            until(lambda: server.poll() is not None or all(map(_listens, ports)))
            assert server.poll() is None
            yield server.pid, *ports
        finally:
            server.terminate()


@contextlib.contextmanager
def in_flight(port: int, release_port: int, path: str, number: int) -> Iterator[None]:
    """Keep requests of a path in flight, which end when the block does."""
    threads = [threading.Thread(target=_ask, args=(port, path)) for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        _ask(release_port, "/release")
        for thread in threads:
            thread.join()


def until(holds: Callable[[], bool]) -> None:
    """Return when it holds; fail if that takes too long."""
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _listens(port: int) -> bool:
    return port in tcp_tables.ports()


def _ask(port: int, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
        connection.request("GET", path)
        connection.getresponse().read()


@contextlib.contextmanager
def unprivileged_folder() -> Iterator[tuple[Path, dict[str, int]]]:
    """A folder, and what Popen takes to run a program that refuses to be root, as the folder's owner."""
    with tempfile.TemporaryDirectory(prefix="crumple-test-") as made:
        if os.geteuid() != 0:
            yield Path(made), {}
            return
        who = pwd.getpwnam("nobody")
        os.chown(made, who.pw_uid, who.pw_gid)
        yield Path(made), {"user": who.pw_uid, "group": who.pw_gid}


@contextlib.contextmanager
def ended(*processes: "subprocess.Popen[bytes]", by: int = signal.SIGTERM) -> Iterator[None]:
    """End these processes when the block does."""
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(by)
        for process in processes:
            process.wait()


def needs(program: str) -> pytest.MarkDecorator:
    """Skip the test where a program is missing."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def found_when(
    source: ModuleType, pid: int, is_there: Callable[[SourceAnswer], bool], *peers: Peer
) -> SourceAnswer:
    """What a source answers, as soon as all requests of the test have got to where they wait."""
    answers: list[SourceAnswer] = []

    def ask() -> bool:
        (answer,) = all_sources.answers(all_sources.of_server(pid, peers, (source,)), LIMIT_S)
        # A busy machine may take longer than a source may.
        assert not answer.why or "did not answer within" in answer.why, answer.why
        answers.append(answer)
        return not answer.why and is_there(answer)

    until(ask)
    return answers[-1]
