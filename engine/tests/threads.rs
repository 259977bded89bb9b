//! Which thread has which scheduling policy, as the kernel reports it.

mod peer;

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use peer::{HELLO, answering, for_seconds, open, record_of, spec, start};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the scheduling policy of each thread of `process` by its name. The first thread is called `first`.
fn policies(process: Pid) -> BTreeMap<String, i32> {
    let process = process.as_raw_nonzero().get();
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let each = tasks.filter_map(|task| {
        let tid: i32 = task.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        // The name, in parentheses, is the second field; the policy is the 41st (proc_pid_stat(5)).
        let policy = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(41 - 3)?.parse().ok()?;
        Some((if tid == process { "first".into() } else { name.trim().into() }, policy))
    });
    each.collect()
}

/// Other work on the machine may leave a thread at idle priority no core. The record must not depend on such a
/// thread.
#[test]
fn the_thread_that_writes_the_record_is_not_the_one_that_steps_aside() {
    let mut spec = spec(&answering(HELLO), 0);
    spec["shape"] = open(4, 100.0);
    spec["threads"] = serde_json::json!(1);
    spec["stop"] = for_seconds(50.0);
    let engine = start(&spec);
    let pid = Pid::from_child(&engine);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut found = BTreeMap::new();
    // A thread has its name and its policy only when it has run.
    while !as_expected(&found) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        found = policies(pid);
    }
    kill_process(pid, Signal::INT).unwrap();
    record_of(engine);
    assert!(as_expected(&found), "{found:?}");
}

/// Returns the cores that each thread of `process` may use, by its name.
fn cores(process: Pid) -> BTreeMap<String, String> {
    let process = process.as_raw_nonzero().get();
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let each = tasks.filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let of =
            |name: &str| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        Some((of("Name:")?, of("Cpus_allowed_list:")?))
    });
    each.collect()
}

/// An engine that spins moves its other threads off the cores that it spins on: to others, if it may use others.
#[test]
fn no_thread_goes_to_a_core_that_this_process_may_not_use() {
    let there = sched_getaffinity(None).unwrap();
    let mine: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| there.is_set(core)).collect();
    if mine.len() < 2 {
        return; // There is no core that could be forbidden.
    }
    let mut spec = spec(&answering(HELLO), 0);
    spec["shape"] = open(4, 100.0);
    spec["threads"] = serde_json::json!(1);
    spec["pacing"] = serde_json::json!("spin");
    spec["stop"] = for_seconds(50.0);
    for spins_on in [vec![], vec![mine[0]]] {
        spec["cores"] = serde_json::json!(spins_on);
        // A process that is started has the cores of the thread that starts it.
        let mut one = CpuSet::new();
        one.set(mine[0]);
        sched_setaffinity(None, &one).unwrap();
        let engine = start(&spec);
        sched_setaffinity(None, &there).unwrap();
        let pid = Pid::from_child(&engine);
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut found = BTreeMap::new();
        while !["aside", "filler", "reader"].iter().all(|name| found.contains_key(*name))
            && Instant::now() < deadline
        {
            thread::sleep(Duration::from_millis(50));
            found = cores(pid);
        }
        kill_process(pid, Signal::INT).unwrap();
        record_of(engine);
        assert!(found.len() > 4 && found.values().all(|cores| *cores == mine[0].to_string()), "{found:?}");
    }
}

/// On a machine of several parts memory is of the part in which the core is that touches it first.
#[test]
fn each_worker_touches_the_memory_of_its_users_first() {
    const USERS: u64 = 16_000;
    let mut spec = spec(&answering(HELLO), 0);
    spec["shape"]["connections"] = serde_json::json!(USERS);
    spec["shape"]["pause_ms"] = serde_json::json!(3_600_000.0); // Hardly any of them begins.
    spec["threads"] = serde_json::json!(1);
    spec["stop"] = for_seconds(50.0);
    let engine = start(&spec);
    let pid = Pid::from_child(&engine);
    let deadline = Instant::now() + Duration::from_secs(20);
    let users_pages = USERS * 128 / rustix::param::page_size() as u64;
    let mut touched = 0;
    while touched < users_pages && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        touched = touched.max(faults(pid, "worker-0").unwrap_or(0));
    }
    kill_process(pid, Signal::INT).unwrap();
    record_of(engine);
    assert!(touched >= users_pages, "{touched} pages of {users_pages}");
}

/// Returns how many pages a thread was the first to touch, of those that need no disk: field 10 of proc_pid_stat(5).
fn faults(process: Pid, name: &str) -> Option<u64> {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())).ok()?;
    let stats = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let stat = stats.into_iter().find(|stat| stat.contains(&format!("({name})")))?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(10 - 3)?.parse().ok()
}

fn as_expected(found: &BTreeMap<String, i32>) -> bool {
    let needed = ["first", "worker-0", "filler", "reader"].map(|name| (name, libc::SCHED_OTHER));
    let stepping_aside = [("aside", libc::SCHED_IDLE)];
    needed.into_iter().chain(stepping_aside).all(|(name, policy)| found.get(name) == Some(&policy))
}
