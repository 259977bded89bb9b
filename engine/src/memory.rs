//! Whether this machine has the memory that a plan takes from its start. A plan that takes more would be killed in the
//! middle of its trial.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::plan::Plan;
use crate::worker::for_plan;

/// Checks that `plan` fits in the memory of this machine. If the kernel does not say how much there is, it fits.
///
/// # Errors
/// If it does not fit.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    fits(needed(plan), available())
}

/// Returns how many bytes the plan's workers take from their start. They take more if there is TLS, or if heads come in
/// pieces.
fn needed(plan: &Plan) -> u64 {
    let users = plan.shape.connections() * for_plan::BYTES_PER_USER;
    let kinds = plan.threads * plan.requests.len() * for_plan::BYTES_PER_KIND;
    (users + kinds) as u64
}

fn fits(needed: u64, available: Option<u64>) -> Result<(), Failure> {
    let Some(available) = available.filter(|&available| available < needed) else {
        return Ok(());
    };
    let mb = |bytes: u64| bytes.div_ceil(1_000_000);
    Err(Failure::new(format!(
        "the load needs {} MB of memory for its connections and kinds of requests, and {} MB are there",
        mb(needed),
        mb(available)
    ))
    .remedy("ask for fewer connections, fewer kinds of requests or fewer threads"))
}

/// Returns how many bytes this process may take without swapping: what the machine has, and what the control groups of
/// this process let it have.
fn available() -> Option<u64> {
    let of_the_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| free(&text));
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    of_the_machine.into_iter().chain(limits(Path::new("/sys/fs/cgroup"), &own)).min()
}

/// Returns `MemAvailable` of `/proc/meminfo` (proc_meminfo(5)).
fn free(meminfo: &str) -> Option<u64> {
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kib.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Returns the limits of memory of a process's control group and of those above it. `own` is its `/proc/PID/cgroup`
/// (cgroups(7), version 2). A group without a limit says `max`.
fn limits(root: &Path, own: &str) -> Vec<u64> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let limit =
        |group: &Path| fs::read_to_string(root.join(group).join("memory.max")).ok()?.trim().parse().ok();
    Path::new(path).ancestors().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::TrialSpec;
    use serde_json::{Value, json};

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        assert!(fits(5_000_000, Some(5_000_000)).is_ok() && fits(5_000_000, None).is_ok());
        let failure = fits(3_200_000_000, Some(1_500_000_000)).unwrap_err();
        assert!(failure.error.contains("3200 MB") && failure.error.contains("1500 MB"), "{}", failure.error);
        assert!(failure.remedy.contains("fewer"), "{}", failure.remedy);
    }

    #[test]
    fn each_thread_counts_each_kind_and_each_connection_is_counted_once() {
        let needed = |kinds: usize, threads: usize| {
            let mut spec: Value =
                serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap();
            spec["shape"] = json!({"kind": "closed", "connections": 64, "pause_ms": 0.0, "pause": "fixed"});
            spec["warm_up"] = Value::Null;
            spec["threads"] = json!(threads);
            spec["requests"] = json!(vec![spec["requests"][0].clone(); kinds]);
            let spec: TrialSpec = serde_json::from_value(spec).unwrap();
            super::needed(&spec.plan().map_err(|failure| failure.error).unwrap())
        };
        let users = 2 * needed(1, 1) - needed(2, 1);
        assert!((64 * 128..64 * 256).contains(&users), "{users}");
        assert_eq!(needed(100, 8) - users, 800 * (needed(1, 1) - users));
    }

    #[test]
    fn a_limit_of_a_group_above_counts() {
        assert_eq!(free("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(free("MemTotal: 9 kB\n"), None);
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("outer/memory.max"), "1048576\n").unwrap();
        assert_eq!(limits(root.path(), "0::/outer/inner\n"), [1 << 20]);
        assert_eq!(limits(root.path(), "1:name=systemd:/x\n0::/\n"), [0_u64; 0]);
        assert!(available().is_some_and(|bytes| bytes > 0));
    }
}
