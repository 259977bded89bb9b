//! The proportional memory (PSS) of processes, from `/proc/PID/smaps_rollup` (proc(5)).
//!
//! While the kernel adds it up, it holds the lock of the process's address space: each thread of that process that maps
//! memory waits until the reader is done. A reader that gets no core stops the server with it. So only threads of normal
//! priority read it.

use std::fs;

use super::{field, has_ended};
use crate::process_tree::Pid;

/// Returns the sum over the processes that are there, in bytes, or `None` if none of them is.
///
/// # Errors
/// Why it could not be read.
pub fn read(pids: &[Pid]) -> Result<Option<u64>, String> {
    let mut total = None;
    for pid in pids {
        match fs::read(format!("/proc/{pid}/smaps_rollup")) {
            Ok(text) => *total.get_or_insert(0) += field(&text, "Pss:").unwrap_or(0) * 1024,
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(format!("smaps_rollup: {error}")),
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_has_no_memory() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(read(&[child.id() as Pid]), Ok(None));
        assert!(read(&[child.id() as Pid, std::process::id() as Pid]).unwrap().unwrap() > 0);
    }
}
