"""Where a server's threads sleep, by the kernel's names: in a lock, for events, for data. Pure."""

from collections.abc import Callable, Mapping

from crumple.machine.at_rest import AtRest
from crumple.observation.at_load import Threads

# In a lock.
LOCKS = ("futex", "semtimedop", "rwsem", "mutex", "lock_inode_wait")
# For something to do, which may be an answer: several sockets can be waited for at a time there, or one.
POLLED = ("poll_schedule_timeout", "do_poll", "do_sys_poll", "do_select")
# For something to do.
FREE = (
    "epoll", "ep_poll", "cqring", *POLLED, "accept", "sigtimedwait", "sigsuspend", "do_wait", "pipe_read",
)  # fmt: skip
# Until a time that the program chose: a pause, a back-off, a look at a lock again and again.
TIMERS = ("nanosleep",)
# For data on one socket.
RECEIVING = ("wait_woken", "sk_wait_data", "unix_stream_read", "unix_stream_data_wait")
# So that no signal wakes them, as those that wait for a disk, but for another thread: for the program of a
# new process to begin (vfork), or for the lock of a process's memory.
NO_DISK = ("kernel_clone", "do_fork", "lock_mm", "mmap", "munmap", "rwsem", "exit_mm")
Asked = Callable[[str], bool]


def at(*places: str) -> Asked:
    """Whether a place is one of these."""
    return lambda place: any(each in place for each in places)


is_lock = at(*LOCKS)
is_polled = at(*POLLED)
is_no_disk = at(*NO_DISK)
is_timer = at(*TIMERS)
is_receiving = at(*RECEIVING)


def is_free(place: str) -> bool:
    """Whether a thread that sleeps there waits for something to do. (A lock is called futex_do_wait.)"""
    return not is_lock(place) and any(each in place for each in FREE)


def under_load(threads: Threads, is_asked: Asked) -> float:
    """How many threads sleep at such places, of those whose place the kernel names."""
    return threads.number * sum(share for place, share in threads.places.items() if place and is_asked(place))


def are_known(threads: Threads | None) -> bool:
    """Whether the kernel names where the threads sleep, of most that do."""
    if threads is None or not threads.places:
        return False
    return threads.places.get("", 0.0) <= sum(threads.places.values()) / 2


def at_rest(rest: AtRest | None, is_asked: Asked) -> int | None:
    """How many did so while nobody asked; None: not read."""
    places: Mapping[str, int] = rest.places if rest is not None else {}
    return sum(number for place, number in places.items() if is_asked(place)) if places else None


def more_than_at_rest(threads: Threads, rest: AtRest | None, is_asked: Asked) -> float:
    """How many more threads sleep there under load than did while nobody asked, as far as that was read."""
    return under_load(threads, is_asked) - (at_rest(rest, is_asked) or 0)
