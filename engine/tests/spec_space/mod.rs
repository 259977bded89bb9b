//! What must hold of every `TrialSpec` that parses: it is refused, or everything that is laid out for it is finite,
//! in order and adds up. The property tests and the fuzzer use it.

use crumple_engine::phase::Course;
use crumple_engine::plan::Plan;
use crumple_engine::random;
use crumple_engine::shape::schedule::Open;
use crumple_engine::shape::timetable::{Filler, Timetable};
use crumple_engine::shape::{Shape, closed::Closed};
use crumple_engine::spec::{Arrivals, TrialSpec};

const DAY_NS: u64 = 86_400_000_000_000;
/// Far below the times at which sums overflow.
const NEVER_NS: u64 = u64::MAX / 4;

/// Asserts all of this. Returns whether the spec could be planned.
pub fn assert_holds(spec: &TrialSpec) -> bool {
    match spec.plan() {
        Ok(plan) => {
            assert_plan(&plan);
            true
        }
        Err(failure) => {
            assert_eq!(failure.exit_code, 2, "{failure}");
            assert!(!failure.error.is_empty() && !failure.remedy.is_empty());
            false
        }
    }
}

fn assert_plan(plan: &Plan) {
    assert!((1..=plan.shape.connections()).contains(&plan.threads));
    for ns in [plan.connect_timeout_ns, plan.request_timeout_ns, plan.stop.within_ns] {
        assert!((1..=DAY_NS).contains(&ns), "{ns}");
    }
    assert!(plan.probe_interval_ns > 0 && plan.progress_every_ns > 0);
    let course = Course::new(plan.warm_up.map(|warm_up| warm_up.stop), plan.stop);
    course.begin(DAY_NS);
    assert!(course.measured_from_ns() >= DAY_NS && course.ends_at_ns() > course.measured_from_ns());
    assert!(course.ends_at_ns() < NEVER_NS);
    match &plan.shape {
        Shape::Closed(closed) => assert_closed(closed, plan.seed),
        Shape::Open(open) => assert_open(open, plan),
    }
}

fn assert_closed(closed: &Closed, seed: u64) {
    let mut random = random::seeded(seed, 1);
    for _ in 0..100 {
        assert!(closed.pause.draw_ns(&mut random) < 64 * DAY_NS);
        assert!(closed.pause.draw_left_ns(&mut random) < 64 * DAY_NS);
    }
    let Some(ramp) = closed.ramp else {
        return;
    };
    let last = closed.connections - 1;
    let users = [0, 1, last / 3, last / 2, last.saturating_sub(1), last].map(|user| user.min(last));
    let sets_out_ns = users.map(|user| ramp.sets_out_after_ns(user));
    let mut in_order: Vec<_> = users.into_iter().zip(sets_out_ns).collect();
    in_order.sort_unstable();
    assert!(in_order.is_sorted_by_key(|&(_, after_ns)| after_ns), "{in_order:?}");
    assert!(in_order.iter().all(|&(_, after_ns)| after_ns <= DAY_NS));
}

fn assert_open(open: &Open, plan: &Plan) {
    let lead_ns = plan.warm_up.map_or(0, |warm_up| warm_up.stop.within_ns);
    let due_ns: Vec<u64> = open.schedule(lead_ns, plan.seed).take(300).collect();
    assert!(due_ns.is_sorted(), "{due_ns:?}");
    assert!(due_ns.iter().all(|&due_ns| due_ns < NEVER_NS), "{due_ns:?}");
    assert_skips(open, lead_ns, plan.seed, &due_ns);
    if open.peak_per_ns() > 1e-3 {
        return; // Without optimisation, it takes long to create a ring of millions of places.
    }
    let table = Timetable::new(open);
    let mut filler = Filler::new(open, DAY_NS, lead_ns, plan.stop.requests, plan.seed);
    filler.fill(&table);
    let (measured_from_ns, ends_at_ns) = (DAY_NS + lead_ns, DAY_NS + lead_ns + plan.stop.within_ns);
    let left = filler.count_left(&table, measured_from_ns, ends_at_ns, 0);
    if let Some(requests) = plan.stop.requests {
        assert_eq!(left.measured, requests);
    }
    // Only what was due before the end is left, and a rate is at most 0.01 per nanosecond.
    let most = 1.1 * 0.01 * (lead_ns + plan.stop.within_ns) as f64 + 1e4;
    assert!((left.warm_up as f64) < most && (plan.stop.requests.is_some() || (left.measured as f64) < most));
}

/// Asserts that skipping finds what taking due times one by one finds, and goes on from there.
fn assert_skips(open: &Open, lead_ns: u64, seed: u64, due_ns: &[u64]) {
    for place in [0, 1, 150, 299] {
        let end_ns = due_ns[place];
        let mut schedule = open.schedule(lead_ns, seed);
        let skipped = schedule.skip_to(end_ns);
        let before = due_ns.partition_point(|&due_ns| due_ns < end_ns) as u64;
        // If a rate is nearly zero, the due time of a request is exact only to within a rounding of its place.
        assert!(skipped.abs_diff(before) <= 1, "{skipped} instead of {before}");
        let next_ns: Vec<u64> = schedule.take(20).collect();
        assert!(next_ns.is_sorted() && next_ns[19] < NEVER_NS, "{next_ns:?}");
        if open.arrivals == Arrivals::Even {
            assert_eq!(skipped, before);
            assert!(next_ns[0] >= end_ns, "{} is before {end_ns}", next_ns[0]);
        }
    }
}
