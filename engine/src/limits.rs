//! The number of descriptors that this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Failure;

/// Descriptors besides those of connections and threads. Some fifteen are in use: standard streams, spools, the files
/// of `/proc`. The lab has the same number (`descriptors_beside`).
const OTHERS: u64 = 32;
/// Descriptors of each thread: its epoll instance, a timer, and the file that says how long it waited for a core.
const PER_THREAD: u64 = 3;

/// Returns the number of descriptors that a trial needs.
pub fn needed(connections: usize, threads: usize) -> u64 {
    connections as u64 + PER_THREAD * threads as u64 + OTHERS
}

/// Raises the soft limit to `needed`.
///
/// # Errors
/// If the hard limit is lower than that.
pub fn raise_descriptors(needed: u64) -> Result<(), Failure> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(maximum) = limit.maximum.filter(|&maximum| maximum < needed) {
        return Err(Failure::new(format!(
            "these connections and threads need {needed} descriptors, and this session may open {maximum}"
        ))
        .remedy(format!(
            "raise the hard limit (ulimit -Hn {needed}, as root) or ask for fewer connections"
        )));
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised)
        .map_err(|errno| Failure::new(format!("cannot raise the limit of descriptors to {needed}: {errno}")))
}

/// Returns how many descriptors may be used besides those that a trial needs, up to `most`. Raises the soft limit for them as
/// far as the hard limit allows.
pub fn room(needed: u64, most: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(needed + most, |maximum| maximum.min(needed + most));
    let mut current = limit.current.unwrap_or(u64::MAX);
    if current < wanted
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).is_ok()
    {
        current = wanted;
    }
    current.saturating_sub(needed).min(most)
}

/// Raises the soft limit to the hard limit.
pub fn raise_descriptors_to_the_most() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_trial_needs_is_left_to_it() {
        let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        assert_eq!(room(8, 10), 10);
        assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), current, "it was enough");
        let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX - 100);
        assert_eq!(room(hard, 10), 0);
    }
}
