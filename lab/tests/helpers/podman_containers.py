"""Containers of Podman on another host of `other_hosts`: root's, behind rules of the kernel, and a user's.

with podman_containers.on_a_host() as host:
    with podman_containers.started(host, "shop", 80, 8080): ...

The host takes all of it along when it ends: networks, rules, mounts and storage.
"""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import other_hosts
from other_hosts import Host

# Where Podman and its plugins keep what they have, and what they have started.
OWN_FOLDERS = (*other_hosts.OWN_FOLDERS, "/var/lib")
# crun refuses a machine that has both versions of control groups. A user's networks need the device, and
# pasta a way out.
PREPARED = """
umount /sys/fs/cgroup/unified 2>/dev/null
mkdir -p /tmp/dev /tmp/user/home /tmp/user/run && mount -t tmpfs -o mode=755 none /tmp/dev || exit
mknod /tmp/dev/tun c 10 200 && chmod 666 /tmp/dev/tun && mount --bind /tmp/dev/tun /dev/net/tun || exit
for owner in root nobody; do
    for each in usr proc sys dev tmp etc run var; do mkdir -p /tmp/$owner/$each; done
    for each in bin sbin lib lib64; do ln -s usr/$each /tmp/$owner/$each; done
done
ip link add out type veth peer name away && ip link set away up || exit
ip addr add 198.18.9.1/24 dev out && ip link set out up || exit
ip route add default via 198.18.9.2 || exit
chown -R nobody /tmp/nobody /tmp/user && chmod 700 /tmp/user/run
"""
# A server that Debian's smallest installation can run: it answers each connection in a process of its own.
SERVES = (
    'use IO::Socket::INET; $SIG{CHLD} = "IGNORE"; $| = 1; '
    "$at = IO::Socket::INET->new(Listen => 99, LocalPort => shift, ReuseAddr => 1) or die; "
    r'print "ready\n"; while (1) { $c = $at->accept or next; next if fork; '
    r'syswrite $c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" while sysread $c, $b, 4096; exit }'
)
AS_NOBODY = (
    *("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"),
    *("env", "HOME=/tmp/user/home", "XDG_RUNTIME_DIR=/tmp/user/run"),
)


def why_not() -> str:
    """Why no container can be made here; empty if one can."""
    missing = [each for each in ("podman", "slirp4netns", "perl", "setpriv") if not shutil.which(each)]
    return other_hosts.why_not() or (f"not installed: {', '.join(missing)}" if missing else "")


@contextmanager
def on_a_host() -> Iterator[Host]:
    """Make a host that can run containers until the `with` ends."""
    with other_hosts.started("containers", OWN_FOLDERS) as host:
        host.run("sh", "-c", PREPARED)
        yield host


@contextmanager
def started(host: Host, name: str, port: int, published: int, before: Sequence[str] = ()) -> Iterator[None]:
    """Run a container that serves until the `with` ends. `before`: AS_NOBODY for a user's."""
    rootfs = "/tmp/nobody" if before else "/tmp/root"
    limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096")
    volume = "--volume=/usr:/usr:ro"
    words = ("podman", "run", "--detach", f"--name={name}", f"--publish={published}:{port}", *limits, volume)
    serves = ("--rootfs", rootfs, "/usr/bin/perl", "-e", SERVES, str(port))
    made = host.run(*before, *words, *serves, check=False)
    assert made.returncode == 0, made.stderr
    try:
        yield
    finally:
        host.run(*before, "podman", "rm", "--force", "--time=0", name)


@contextmanager
def serving(host: Host, *before: str, port: int = 80) -> Iterator[subprocess.Popen[str]]:
    """Run the server without a container until the `with` ends. `before`: what starts it."""
    with host.running(*before, "perl", "-e", SERVES, str(port), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
