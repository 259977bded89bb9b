use super::*;
use crate::clock::now_ns;
use crate::random;

fn sampling() -> Sampling {
    Sampling::new(random::seeded(1, 1), descriptors())
}

#[test]
fn of_many_those_that_use_most_are_chosen_and_equal_ones_by_chance() {
    let mut sampling = sampling();
    let all = |cpu_ns: fn(i32) -> u64| (1..=1_000).map(move |tid| (1, tid, cpu_ns(tid)));
    let tids =
        |chosen: Vec<(Pid, Pid, u64)>| chosen.into_iter().map(|(_, tid, _)| tid).collect::<BTreeSet<_>>();
    let first = tids(sampling.choose(all(|_| 0)));
    let second = tids(sampling.choose(all(|_| 0)));
    assert_eq!((first.len(), second.len()), (AT_ONCE, AT_ONCE));
    assert!(first.intersection(&second).count() < AT_ONCE / 2);
    let busy = tids(sampling.choose(all(|tid| if tid > 990 { 5_000_000 } else { 1_000 })));
    assert!((991..=1_000).all(|tid| busy.contains(&tid)));
    // What counts is what they used since: these 10 use nothing more.
    let later = tids(sampling.choose(all(|tid| if tid > 990 { 5_000_000 } else { 900_000 })));
    assert!(!(991..=1_000).any(|tid| later.contains(&tid)));
}

#[test]
fn a_machine_of_many_cores_has_as_many_threads_sampled_as_descriptors_allow() {
    assert_eq!((at_once(1), at_once(32), at_once(128)), (64, 64, 256));
    let of = |room| {
        let sampling = Sampling::new(random::seeded(1, 1), room);
        (sampling.at_once, sampling.files_most)
    };
    assert_eq!(of(descriptors()), (at_once(cores()), FILES_MOST));
    assert_eq!((of(0), of(1), of(20)), ((0, 0), (0, 1), (10, 10)));
}

#[test]
fn thousands_of_threads_are_looked_through_once_a_term() {
    let (mut sampling, counted) = (sampling(), std::cell::Cell::new(0));
    let threads = || {
        counted.set(counted.get() + 1);
        (1..=5_000).map(|tid| (0, -tid, 0)) // None is there.
    };
    (0..10).for_each(|step| sampling.go_on(threads, 1 + step * TERM_NS / 10));
    let in_one_term = counted.get();
    sampling.go_on(threads, 1 + TERM_NS);
    assert_eq!((in_one_term, counted.get()), (2, 4));
}

/// Without calls in it, however it is compiled.
#[inline(never)]
fn burn_in_a_function_with_a_name(until_ns: u64) -> u64 {
    let mut sum = 1_u64;
    while now_ns() < until_ns {
        let mut left = 1_000_000_u64;
        while left > 0 {
            left -= 1;
            sum = (sum << 1) ^ left;
        }
    }
    std::hint::black_box(sum)
}

#[test]
fn a_thread_is_found_in_the_function_that_it_computes_in() {
    let (told, tid) = std::sync::mpsc::channel();
    let burning = std::thread::spawn(move || {
        told.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        burn_in_a_function_with_a_name(now_ns() + 400_000_000)
    });
    let (pid, tid) = (std::process::id() as Pid, tid.recv().unwrap());
    let mut sampling = sampling();
    while !burning.is_finished() {
        sampling.go_on(|| [(pid, tid, 0)].into_iter(), now_ns());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    sampling.end(now_ns());
    assert!(burning.join().is_ok());
    let record = sampling.record();
    if let Some(why) = record.why {
        assert!(why.contains("perf_event"), "{why}"); // This machine forbids it, and says so.
        return;
    }
    assert!(record.samples >= 10 && record.threads == 1, "{record:?}");
    let first = &record.functions[0];
    assert!(first.function.contains("burn_in_a_function_with_a_name"), "{record:?}");
    assert!(first.samples * 2 > record.samples && record.named * 2 > record.samples, "{record:?}");
    let program = std::env::current_exe().unwrap();
    assert_eq!(first.object, program.file_name().unwrap().to_str().unwrap());
}

/// Has the kernel refuse perf_event_open to the calling thread (seccomp(2)), as containers do.
fn forbid() {
    let load = |k| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k };
    let unless = |k| libc::sock_filter { code: 0x15, jt: 0, jf: 1, k };
    let end = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter =
        [load(0), unless(libc::SYS_perf_event_open as u32), end(refuse), end(libc::SECCOMP_RET_ALLOW)];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: `program` and what it points to outlive the calls; the filter holds for this thread alone.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(refused, 0);
}

#[test]
fn where_it_is_forbidden_there_is_a_reason_and_no_sample() {
    let record = std::thread::spawn(|| {
        forbid();
        let (pid, tid) = (std::process::id() as Pid, rustix::thread::gettid().as_raw_nonzero().get());
        let mut sampling = sampling();
        let until_ns = now_ns() + 50_000_000;
        while now_ns() < until_ns {
            sampling.go_on(|| [(pid, tid, 0)].into_iter(), now_ns());
        }
        sampling.end(now_ns());
        sampling.record()
    });
    let record = record.join().unwrap();
    assert!(record.why.unwrap().contains("perf_event"));
    assert_eq!((record.samples, record.threads, record.functions.len()), (0, 0, 0));
}
