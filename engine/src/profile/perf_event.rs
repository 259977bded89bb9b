//! One thread's samples: where it is in user space, at even intervals of its CPU time, by a clock of the kernel
//! (perf_event_open(2)). No counter of the processor is needed, so it works in virtual machines, too.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ring::{self, Taken};
use crate::process_tree::Pid;

const TYPE_SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const SAMPLE_IP: u64 = 1;
const SAMPLE_TID: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// Where the page before the buffer says how far the kernel has written, and where it is told how far that was read.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;
/// With this value of kernel.perf_event_paranoid, or a lower one, users may sample their own processes. Distributions have
/// added higher ones that forbid it.
const PARANOID_MOST: i64 = 2;

/// `struct perf_event_attr` as it was at first (`PERF_ATTR_SIZE_VER0`), which all kernels take.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

/// Why a thread cannot be sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It has ended.
    Gone,
    /// This value of kernel.perf_event_paranoid forbids it to users.
    Paranoid(i64),
    /// It is another user's process, or a filter of system calls forbids it.
    Forbidden,
    /// This kernel was built without it.
    Missing,
    /// No descriptor or locked memory is left for it.
    Used(String),
}

impl Denied {
    /// Returns why, and what helps; empty for a thread that has ended.
    pub fn why(&self) -> String {
        match self {
            Self::Gone => String::new(),
            Self::Paranoid(value) => {
                format!("kernel.perf_event_paranoid is {value}: sysctl kernel.perf_event_paranoid=2 allows it")
            }
            Self::Forbidden => {
                "perf_event_open is forbidden: it is another user's process, or the container forbids the call \
                 (seccomp)"
                    .into()
            }
            Self::Missing => "this kernel has no perf_event_open".into(),
            Self::Used(error) => format!("perf_event_open: {error}"),
        }
    }

    fn of(error: &io::Error, paranoid: Option<i64>) -> Self {
        match error.raw_os_error() {
            Some(libc::ESRCH) => Self::Gone,
            Some(libc::EACCES | libc::EPERM) => match paranoid {
                Some(value) if value > PARANOID_MOST => Self::Paranoid(value),
                _ => Self::Forbidden,
            },
            Some(libc::ENOSYS | libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Self::Missing,
            _ => Self::Used(error.to_string()),
        }
    }
}

/// A thread that is being sampled, until this is dropped.
pub struct Sampled {
    _event: OwnedFd,
    mapped: *mut u8,
    page: usize,
}

// SAFETY: the mapping is owned by this value alone and is not bound to a thread.
unsafe impl Send for Sampled {}

impl Sampled {
    /// Begins to sample a thread each `period_ns` of its CPU time.
    pub fn begin(tid: Pid, period_ns: u64) -> Result<Self, Denied> {
        let event = open(tid, period_ns).map_err(|error| Denied::of(&error, paranoid()))?;
        let page = rustix::param::page_size();
        // SAFETY: a new mapping of a descriptor of ours; the kernel chooses the place.
        let mapped = unsafe {
            libc::mmap(
                ptr::null_mut(),
                2 * page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            // Without the right to lock more, a user may lock kernel.perf_event_mlock_kb of memory.
            return Err(Denied::Used(format!("its buffer: {}", io::Error::last_os_error())));
        }
        Ok(Self { _event: event, mapped: mapped.cast(), page })
    }

    /// Returns what came since the last time.
    pub fn take(&mut self) -> Taken {
        let (head, tail) = (self.position(HEAD_AT), self.position(TAIL_AT));
        // What the kernel wrote before it moved the head is seen after this.
        let (until, from) = (head.load(Ordering::Acquire), tail.load(Ordering::Relaxed));
        if until == from {
            return Taken::default();
        }
        let mut buffer = vec![0; self.page];
        // SAFETY: the second page of the mapping is there as long as `self`. The kernel writes beside what is copied, and
        // what it writes meanwhile is not looked at.
        unsafe { ptr::copy_nonoverlapping(self.mapped.add(self.page), buffer.as_mut_ptr(), self.page) };
        let taken = ring::parse(&ring::unrolled(&buffer, from, until));
        tail.store(until, Ordering::Release);
        taken
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both positions are aligned numbers in the first page of the mapping, which is there as long as `self`.
        unsafe { AtomicU64::from_ptr(self.mapped.add(at).cast()) }
    }
}

impl Drop for Sampled {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and is not used after this.
        unsafe { libc::munmap(self.mapped.cast(), 2 * self.page) };
    }
}

fn open(tid: Pid, period_ns: u64) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: TYPE_SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: TASK_CLOCK,
        sample_period: period_ns,
        sample_type: SAMPLE_IP | SAMPLE_TID,
        flags: EXCLUDE_KERNEL | EXCLUDE_HV,
        ..Attributes::default()
    };
    let (any_core, no_group): (libc::c_int, libc::c_int) = (-1, -1);
    // SAFETY: `attributes` outlives the call and says its own size.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            tid,
            any_core,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Returns the kernel's setting; `None`: it cannot be read.
fn paranoid() -> Option<i64> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(errno: i32, paranoid: Option<i64>) -> Denied {
        Denied::of(&io::Error::from_raw_os_error(errno), paranoid)
    }

    #[test]
    fn a_denial_names_the_setting_that_denies_it_and_the_remedy() {
        for value in [3, 4] {
            let found = denied(libc::EACCES, Some(value));
            assert_eq!(found, Denied::Paranoid(value));
            assert!(found.why().contains("sysctl kernel.perf_event_paranoid=2"), "{}", found.why());
        }
        assert_eq!(denied(libc::EACCES, Some(2)), Denied::Forbidden);
        assert_eq!(denied(libc::EPERM, None), Denied::Forbidden);
        assert_eq!(denied(libc::ENOSYS, Some(2)), Denied::Missing);
        assert_eq!(denied(libc::ESRCH, Some(4)), Denied::Gone);
        assert!(denied(libc::EMFILE, Some(2)).why().contains("open files"));
    }

    #[test]
    fn a_thread_that_is_gone_is_not_sampled() {
        let tid = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get()).join().unwrap();
        // It may be denied before anything is looked up.
        assert!(Sampled::begin(tid, 1_000_000).is_err());
    }
}
