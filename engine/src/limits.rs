//! How many descriptors this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Failure;

/// Beside the connections: standard streams, epoll instances, `/proc`.
const OTHERS: u64 = 64;

/// Raises the soft limit as far as `connections` need.
///
/// # Errors
/// Where the hard limit is lower than that.
pub fn raise_descriptors(connections: usize) -> Result<(), Failure> {
    let needed = connections as u64 + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(maximum) = limit.maximum.filter(|&maximum| maximum < needed) {
        return Err(Failure::new(format!(
            "{connections} connections need {needed} descriptors, and this session may open {maximum}"
        ))
        .remedy(format!(
            "raise the hard limit (ulimit -Hn {needed}, as root) or ask for fewer connections"
        )));
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised)
        .map_err(|errno| Failure::new(format!("cannot raise the limit of descriptors to {needed}: {errno}")))
}
