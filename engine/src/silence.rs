//! Ends this process if it is not put off in time: nobody else would, where whoever started it is lost.

use std::io;
use std::mem;
use std::ptr;
use std::time::Duration;

use crate::failure::Failure;

/// A timer of the kernel whose signal is SIGKILL. No thread has to run for it, so that it ends a process also while that
/// is stopped, or while all its threads hang. It lasts as long as the process.
pub struct Silence {
    timer: libc::timer_t,
    at_most: libc::itimerspec,
}

// SAFETY: The timer's identity is a number that the kernel gave, and it is valid in all threads of the process.
unsafe impl Send for Silence {}

impl Silence {
    /// Ends this process `at_most` from now, or from when it was last put off.
    ///
    /// # Errors
    /// If the kernel gives no such timer.
    pub fn begin(at_most: Duration) -> Result<Self, Failure> {
        // SAFETY: All zeros are a valid value of this type, which has numbers and null pointers only.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, libc::SIGKILL);
        let mut timer = ptr::null_mut();
        // SAFETY: Both pointers are to live values of their types.
        let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        if made != 0 {
            let error = io::Error::last_os_error();
            return Err(Failure::new(format!("the kernel gives no timer that ends a lost load: {error}")));
        }
        // SAFETY: As above.
        let mut after: libc::itimerspec = unsafe { mem::zeroed() };
        after.it_value.tv_sec = at_most.as_secs() as libc::time_t;
        after.it_value.tv_nsec = libc::c_long::from(at_most.subsec_nanos() as i32);
        let silence = Self { timer, at_most: after };
        silence.put_off();
        Ok(silence)
    }

    pub fn put_off(&self) {
        // SAFETY: The timer exists as long as the process does, and the pointer is to a live value.
        unsafe { libc::timer_settime(self.timer, 0, &raw const self.at_most, ptr::null_mut()) };
    }
}

/// Ends this process at once, as its silence does.
pub fn end_at_once() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
