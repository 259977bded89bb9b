use super::*;
use crate::clock::now_ns;
use crate::random;

fn sampling() -> Sampling {
    Sampling::new(random::seeded(1, 1))
}

#[test]
fn of_many_those_that_use_most_are_chosen_and_equal_ones_by_chance() {
    let mut sampling = sampling();
    let all = |cpu_ns: fn(i32) -> u64| (1..=1_000).map(move |tid| (1, tid, cpu_ns(tid)));
    let tids = |chosen: Vec<(Pid, Pid, u64)>| chosen.into_iter().map(|(_, tid, _)| tid).collect::<BTreeSet<_>>();
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
    sampling.end();
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
