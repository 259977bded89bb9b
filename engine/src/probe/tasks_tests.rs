use super::super::cpu_clock;
use super::super::played::Played;
use super::*;
use crate::process_tree::descendants;
use crate::random;
use std::time::{Duration, Instant};

/// Enough for a whole round.
const LONG_NS: u64 = 10_000_000_000;
const MS: u64 = 1_000_000;

fn tasks_of(pid: Pid) -> Tasks {
    Tasks::open(pid, random::seeded(1, 1)).unwrap()
}

/// Starts a process, and gives it these orders.
fn playing(orders: &[&str]) -> Played {
    let mut played = Played::begin();
    orders.iter().for_each(|order| played.say(order));
    played
}

/// Looks at all threads until `holds` of what was seen.
fn look_until(tasks: &mut Tasks, holds: impl Fn(&Reading) -> bool) -> Reading {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let reading = tasks.read(1_000);
        if holds(&reading) {
            return reading;
        }
        assert!(Instant::now() < deadline, "{reading:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn all_sleep(reading: &Reading) -> bool {
    reading.looked == reading.threads && reading.running + reading.disk + reading.stopped == 0
}

fn why<'a>(record: &'a TaskRecord, field: &str) -> Option<&'a str> {
    record.unread.iter().find(|unread| unread.field == field).map(|unread| unread.why.as_str())
}

/// Returns what is recorded of the threads of this name.
fn named<'a>(record: &'a TaskRecord, name: &str) -> Vec<&'a TaskThread> {
    record.threads_seen.iter().filter(|thread| thread.name == name).collect()
}

#[test]
fn threads_that_sleep_are_found_where_they_sleep() {
    let kinds = [
        ("futex", "futex", 3),
        ("epoll", "poll", 1),
        ("nanosleep", "nanosleep", 2),
        ("pipe", "pipe_read", 1),
    ];
    let played = playing(&["start futex 3", "start epoll 1", "start nanosleep 2", "start pipe 1"]);
    let mut tasks = tasks_of(played.pid());
    // From Linux 6.12 on, a thread that has just fallen asleep may stay in its core's queue, and has no place until then.
    let has_place = |&tid: &Pid| matches!(task_files::place(played.pid(), tid), Ok(Some(_)));
    look_until(&mut tasks, |reading| {
        all_sleep(reading) && task_files::threads(played.pid()).unwrap().iter().all(has_place)
    });
    tasks.begin();
    for _ in 0..10 {
        assert!(all_sleep(&tasks.read(1_000)));
    }
    tasks.close();
    let record = tasks.record();
    for (name, place, count) in kinds {
        let threads = named(&record, name);
        assert_eq!(threads.len(), count, "{record:?}");
        let found = threads[0].place.as_deref().unwrap();
        assert!(found.contains(place), "{name}: {found}");
        let all = record.places.iter().find(|row| row.place == found).unwrap().looked;
        // The threads of the program of tests sleep, too.
        assert!(all >= 10 * count as u64, "{record:?}");
    }
    assert!(record.places.is_sorted_by_key(|row| std::cmp::Reverse(row.looked)));
    let looked: u64 = record.places.iter().map(|row| row.looked).sum();
    assert_eq!(looked, 10 * record.threads_seen.len() as u64);
    assert_eq!((record.born, record.ended), (Some(0), Some(0)));
    assert_eq!(why(&record, "cpu_ns").or(why(&record, "places")), None);
}

#[test]
fn a_reading_draws_each_thread_once_and_all_of_them_in_the_end() {
    let played = playing(&["start nanosleep 40"]);
    let mut tasks = tasks_of(played.pid());
    let threads = look_until(&mut tasks, all_sleep).threads;
    tasks.begin();
    for _ in 0..200 {
        let reading = tasks.read(8);
        assert_eq!((reading.threads, reading.looked), (threads, 8));
    }
    tasks.close();
    let record = tasks.record();
    // That one of them was never drawn has a probability of less than one in a million million.
    assert!(record.threads_seen.iter().all(|thread| thread.place.is_some()), "{record:?}");
}

#[test]
fn a_thread_that_computes_runs_and_its_time_is_counted() {
    let mut played = playing(&["start nanosleep 3"]);
    let mut tasks = tasks_of(played.pid());
    look_until(&mut tasks, all_sleep);
    let cpu_ns = || cpu_clock::process_ns(played.pid()).unwrap();
    let before_ns = cpu_ns();
    tasks.begin();
    let begun_ns = cpu_ns();
    played.say("start compute 1");
    let cpu_ns = || cpu_clock::process_ns(played.pid()).unwrap();
    tasks.go_on(LONG_NS);
    look_until(&mut tasks, |reading| reading.running == 1 && cpu_ns() > begun_ns + 100 * MS);
    let least_ns = cpu_ns() - begun_ns;
    tasks.close();
    let most_ns = cpu_ns() - before_ns;
    let record = tasks.record();
    let dearest = &record.threads_seen[0];
    assert_eq!((dearest.name.as_str(), dearest.ended), ("compute", false));
    // What a thread uses is brought up to date at each tick, of 10 ms at most.
    let counted = least_ns - 10 * MS..=most_ns;
    assert!(counted.contains(&record.cpu_ns.unwrap()), "{record:?}, {counted:?}");
    assert_eq!(record.threads_seen.iter().map(|thread| thread.cpu_ns).sum::<u64>(), record.cpu_ns.unwrap());
    let waited_ns = record.threads_seen.iter().map(|thread| thread.run_queue_ns).sum();
    assert_eq!(record.run_queue_ns, Some(waited_ns));
    assert_eq!((record.born, why(&record, "cpu_ns")), (Some(1), None));
}

#[test]
fn what_was_used_before_the_measured_phase_does_not_count() {
    let mut played = playing(&["start compute 1"]);
    let mut tasks = tasks_of(played.pid());
    look_until(&mut tasks, |_| cpu_clock::process_ns(played.pid()).unwrap() > 100 * MS);
    played.say("stop compute");
    tasks.begin();
    tasks.close();
    let record = tasks.record();
    assert!(record.cpu_ns.unwrap() < 50 * MS, "{record:?}");
    assert_eq!(record.ended, Some(0), "it ended before");
    assert!(record.places.is_empty());
}

#[test]
fn threads_that_begin_and_end_are_counted() {
    let mut played = Played::begin();
    let mut tasks = tasks_of(played.pid());
    let threads = tasks.read(0).threads;
    tasks.begin();
    played.say("start futex 5");
    tasks.go_on(LONG_NS);
    assert_eq!(tasks.read(0).threads, threads + 5);
    played.say("stop futex");
    // Nobody has looked for them again.
    assert_eq!(tasks.read(1_000).looked, threads);
    played.say("start futex 2");
    tasks.close();
    let record = tasks.record();
    assert_eq!((record.born, record.ended), (Some(7), Some(5)));
    assert_eq!(record.threads_seen.len() as u64, threads + 7);
    assert_eq!(record.threads_seen.iter().filter(|thread| thread.ended).count(), 5);
    assert!(why(&record, "ended_cpu_ns").unwrap().contains("5 of "));
    assert_eq!(why(&record, "cpu_ns"), None);
}

#[test]
fn a_stopped_process_has_stopped_threads() {
    let played = playing(&["start nanosleep 2"]);
    let mut tasks = tasks_of(played.pid());
    let pid = rustix::process::Pid::from_raw(played.pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    look_until(&mut tasks, |reading| reading.stopped == reading.threads);
}

#[test]
fn a_process_that_ends_within_the_measured_phase_has_no_sums() {
    let mut process = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let mut tasks = tasks_of(process.id() as Pid);
    tasks.begin();
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(tasks.read(64), Reading { threads: 1, ..Reading::default() });
    tasks.close();
    assert_eq!(tasks.read(64), Reading::default());
    let record = tasks.record();
    assert!(why(&record, "cpu_ns").unwrap().contains("is gone"));
    assert_eq!((record.cpu_ns, record.born, record.window_ns), (None, None, None));
}

#[test]
fn without_a_measured_phase_there_are_no_sums() {
    let played = Played::begin();
    let record = tasks_of(played.pid()).record();
    assert!(why(&record, "cpu_ns").unwrap().contains("did not begin"));
    assert_eq!((record.cpu_ns, record.threads_seen.len()), (None, 0));
}

/// Looks at a process that is another user's than the calling thread. Where the tests run as root, the thread becomes
/// another user; else some process of the machine will do, if one is to be seen.
fn beside_another_user(look: impl FnOnce(Pid) + Send) {
    const NOBODY: libc::uid_t = 65_534;
    if !rustix::process::geteuid().is_root() {
        let is_foreign = |&pid: &Pid| task_files::is_refused(pid, pid) && descendants(pid).is_empty();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<Pid>().ok());
        if let Some(pid) = pids.find(is_foreign) {
            look(pid);
        }
        return;
    }
    let played = playing(&["start nanosleep 2"]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the call takes numbers alone. glibc's function of this name would change all threads.
            let changed = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
            assert_eq!(changed, 0);
            look(played.pid());
        });
    });
}

#[test]
fn threads_of_another_user_sleep_and_do_not_run_and_where_is_not_told() {
    beside_another_user(|pid| {
        let mut tasks = tasks_of(pid);
        tasks.begin();
        look_until(&mut tasks, |reading| reading.looked > 0 && reading.running < reading.looked);
        tasks.close();
        let record = tasks.record();
        assert!(record.places.is_empty(), "{record:?}");
        assert!(why(&record, "places").unwrap().contains("belongs to another user"));
        assert!(record.threads_seen.iter().all(|thread| thread.place.is_none()));
        assert!(record.cpu_ns.is_some(), "what they use may be read: {record:?}");
    });
}

#[test]
fn what_came_and_went_unseen_is_told_of() {
    let sums = Sums { at_first: 20, born: 5, ..Sums::default() };
    let fields = |sums: &Sums, begun| -> Vec<String> {
        not_seen(sums, begun).into_iter().map(|unread| unread.field).collect()
    };
    assert_eq!(fields(&sums, None), [""; 0]);
    assert_eq!(fields(&sums, Some(7)), [""; 0], "two of twenty-five are few");
    assert_eq!(fields(&sums, Some(8)), ["born"]);
    let sums = Sums { ended: 1, seen_late: 1, ..sums };
    assert_eq!(fields(&sums, Some(5)), ["cpu_ns", "ended_cpu_ns"]);
}

#[test]
fn the_most_frequent_places_come_first() {
    let mut places = Places::default();
    for number in 0..40 {
        for _ in 0..=number % 35 {
            places.count(&format!("at{number:02}"));
        }
    }
    let rows = places.rows();
    assert_eq!(rows.len(), 32);
    assert_eq!((rows[0].place.as_str(), rows[0].looked), ("at34", 35));
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.looked)));
}
