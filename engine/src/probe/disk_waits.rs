//! Whether threads that no signal wakes wait for a disk. They may wait for a lock in the kernel instead, of one folder for
//! instance. The kernel counts the threads of the whole machine that wait for a disk (`procs_blocked` in proc_stat(5)).

use std::fs;

use super::field;

/// Ten looks are needed to say anything.
const LEAST: u64 = 10;
/// No more than 40 looks are taken: the kernel sums over all cores and interrupts for each.
const MOST: u64 = 40;
/// If a thread of the machine waited for a disk at fewer than one look in ten, the server's threads did not.
const ONE_IN: u64 = 10;

#[derive(Default)]
pub struct DiskWaits {
    looks: u64,
    /// The number of looks at which some thread of the machine waited for a disk.
    waited: u64,
}

impl DiskWaits {
    /// Looks at the machine, while threads of the server are asleep so that no signal wakes them.
    pub fn look(&mut self) {
        if self.looks < MOST {
            self.note(waiting_on_this_machine());
        }
    }

    fn note(&mut self, waiting: Option<u64>) {
        self.looks += u64::from(waiting.is_some());
        self.waited += u64::from(waiting.is_some_and(|number| number > 0));
    }

    /// Returns why it is not known that these threads wait for a disk, if so.
    pub fn doubt(&self) -> Option<String> {
        (self.looks >= LEAST && self.waited * ONE_IN < self.looks).then(|| {
            format!(
                "threads sleep so that no signal wakes them, and at {} of {} looks no thread of this machine waited for a \
                 disk: it may be a lock in the kernel, of one folder for instance, or a file system over the network",
                self.looks - self.waited,
                self.looks
            )
        })
    }
}

/// Returns how many threads of this machine wait for a disk, if the kernel counts them.
fn waiting_on_this_machine() -> Option<u64> {
    field(&fs::read("/proc/stat").ok()?, "procs_blocked")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(looks: &[(u64, Option<u64>)]) -> Option<String> {
        let mut waits = DiskWaits::default();
        looks.iter().for_each(|&(times, waiting)| (0..times).for_each(|_| waits.note(waiting)));
        waits.doubt()
    }

    #[test]
    fn where_no_thread_of_the_machine_waits_for_a_disk_the_servers_do_not() {
        let why = doubt(&[(19, Some(0)), (1, Some(2))]).unwrap();
        assert!(why.contains("at 19 of 20 looks no thread of this machine waited for a disk"), "{why}");
    }

    #[test]
    fn where_some_do_the_servers_may_be_among_them() {
        assert_eq!(doubt(&[(18, Some(0)), (2, Some(1))]), None);
        assert_eq!(doubt(&[(20, Some(9))]), None);
    }

    #[test]
    fn few_looks_and_a_kernel_that_does_not_count_tell_nothing() {
        assert_eq!(doubt(&[(9, Some(0))]), None);
        assert_eq!(doubt(&[(9, Some(0)), (90, None)]), None);
    }

    #[test]
    fn no_more_looks_are_taken_than_tell_it() {
        let mut waits = DiskWaits::default();
        (0..2 * MOST).for_each(|_| waits.look());
        assert_eq!(waits.looks, if waiting_on_this_machine().is_some() { MOST } else { 0 });
    }
}
