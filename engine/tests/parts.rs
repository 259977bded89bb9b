//! All parts of a load are together the load: when it is due, which users it has, and what its requests ask.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use crumple_engine::carried::Carried;
use crumple_engine::faults::Faults;
use crumple_engine::http::values::{Files, Values};
use crumple_engine::load::{Act, Due, Load, Users};
use crumple_engine::part::Part;
use crumple_engine::phase::{Course, Phase};
use crumple_engine::plan::Plan;
use crumple_engine::random;
use crumple_engine::shape::Shape;
use crumple_engine::shape::closed::ClosedLoad;
use crumple_engine::shape::schedule::{Open, Schedule};
use crumple_engine::spec::{
    Arrivals, FileSpec, PartSpec, PauseKind, RateSpec, ShapeSpec, StopSpec, TrialSpec, WarmUpSpec,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const CASES: u32 = 10_000;
/// Any instant at which a trial may begin.
const BEGAN_NS: u64 = 5_000_000_000_000;

/// Returns a configuration with cases that are the same in every run.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: CASES,
        rng_seed: RngSeed::Fixed(43),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

static GOLDEN: LazyLock<TrialSpec> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap());

/// Returns a load of a minute.
fn spec(shape: ShapeSpec, warm_up: Option<WarmUpSpec>) -> TrialSpec {
    TrialSpec { shape, warm_up, stop: StopSpec::Duration { duration_s: 60.0 }, ..GOLDEN.clone() }
}

fn warm_up(connections: Option<usize>, duration_s: f64) -> WarmUpSpec {
    WarmUpSpec { connections, pauses: true, stop: StopSpec::Duration { duration_s } }
}

fn planned(spec: &TrialSpec) -> Plan {
    spec.plan().map_err(|failure| failure.error).unwrap()
}

/// Returns the plan of each of `of` parts.
fn parts_of(spec: &TrialSpec, of: usize) -> Vec<Plan> {
    let part = |index| TrialSpec { part: Some(PartSpec { index, of }), ..spec.clone() };
    (0..of).map(|index| planned(&part(index))).collect()
}

fn open(plan: &Plan) -> &Open {
    let Shape::Open(open) = &plan.shape else { panic!("it is open") };
    open
}

fn schedule(plan: &Plan) -> Schedule {
    open(plan).schedule(plan.warm_up.map_or(0, |warm_up| warm_up.stop.within_ns), plan.seed)
}

/// Rates of which the last is above 0, and so is the first if they follow a warm-up.
fn rates() -> impl Strategy<Value = (Vec<RateSpec>, Option<f64>)> {
    let per_s = || prop_oneof![1 => Just(0.0), 3 => 0.1..1_000.0, 1 => 1e3..1e6];
    let stretch = (per_s(), per_s(), 0.01..2.0).prop_map(|(from_per_s, to_per_s, duration_s)| RateSpec {
        from_per_s: if from_per_s + to_per_s > 0.0 { from_per_s } else { 1.0 },
        to_per_s,
        duration_s,
    });
    (vec(stretch, 1..4), option::of(0.001..1.0)).prop_map(|(mut rates, lead_s)| {
        if let Some(last) = rates.last_mut() {
            last.to_per_s = last.to_per_s.max(0.5);
        }
        let lead_s = lead_s.filter(|_| rates[0].from_per_s > 0.0);
        (rates, lead_s)
    })
}

/// Users of whom none is answered.
struct Waiting;

impl Users for Waiting {
    fn has_socket(&self, _user: u32) -> bool {
        true
    }

    fn is_in_flight(&self, _user: u32) -> bool {
        false
    }

    fn may_open(&self) -> bool {
        true
    }
}

/// Returns in which phase and when each user of a closed load sends its first request, in order.
fn first_requests(plan: &Plan) -> Vec<(bool, u64)> {
    let Shape::Closed(shape) = &plan.shape else { panic!("it is closed") };
    let course = Course::new(plan.warm_up.map(|warm_up| warm_up.stop), plan.stop);
    course.begin(BEGAN_NS);
    let mut first = Vec::new();
    for thread in 0..plan.threads {
        let threads = (thread, plan.threads);
        let mut load = ClosedLoad::new(shape, &course, plan.warm_up.as_ref(), threads, plan.seed);
        let phases = [Phase::WarmUp, Phase::Measured].map(|phase| (phase, course.began_at_ns(phase)));
        for (phase, began_ns) in phases.into_iter().skip(usize::from(plan.warm_up.is_none())) {
            load.begin(phase, began_ns);
            let mut next_ns = Some(began_ns);
            while let Some(now_ns) = next_ns {
                while let Some(act) = load.next(now_ns, &Waiting) {
                    if let Act::Send { due, .. } = act {
                        let (Due::Now { since_ns: due_ns } | Due::At { due_ns, .. }) = due;
                        first.push((phase == Phase::Measured, due_ns));
                    }
                }
                next_ns = load.wake(now_ns).due_ns;
            }
        }
    }
    first.sort_unstable();
    first
}

/// Files of one line, of two, and so on.
fn files() -> (Files, Vec<usize>) {
    let lines = |count: usize| (0..count).map(|line| format!("{line}\n")).collect::<String>();
    let spec = |count: usize| FileSpec {
        name: count.to_string(),
        base64: base64::Engine::encode(&base64::engine::general_purpose::STANDARD, lines(count)),
    };
    let specs: Vec<FileSpec> = (1..=7).map(spec).collect();
    let mut files = Files::of(&Arc::new(Carried::new(&specs, &mut Faults::default())));
    let opened = specs.iter().map(|file| files.open(&file.name).unwrap()).collect();
    (files, opened)
}

/// Returns the number and the lines of each of `count` requests.
fn values(part: Part, count: usize) -> Vec<(u64, Vec<String>)> {
    let ((files, opened), mut last_seq, mut random) = (files(), 0, random::seeded(1, 0));
    let of = |turn| {
        let mut values = Values::new(part, turn as u64, &mut last_seq, &mut random);
        let lines =
            opened.iter().map(|&file| String::from_utf8(values.line(files.get(file)).to_vec()).unwrap());
        let lines = lines.collect();
        (values.seq(), lines)
    };
    (0..count).map(of).collect()
}

fn parts(of: usize) -> Vec<Part> {
    let part = |index| Part::meant(Some(PartSpec { index, of }), &mut Faults::default());
    (0..of).map(part).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn even_arrivals_of_all_parts_are_those_of_the_whole(
        (rates, lead_s) in rates(),
        of in 1..=8_usize,
        count in 0..400_usize,
        end_s in 0.0..4.0,
    ) {
        let shape = ShapeSpec::Open { connections: 8, arrivals: Arrivals::Even, rates };
        let spec = spec(shape, lead_s.map(|lead_s| warm_up(None, lead_s)));
        let (whole, plans) = (planned(&spec), parts_of(&spec, of));
        let mut due_ns: Vec<u64> = plans
            .iter()
            .zip(parts(of))
            .flat_map(|(plan, part)| schedule(plan).take(part.share(count)))
            .collect();
        due_ns.sort_unstable();
        prop_assert!(schedule(&whole).take(count).eq(due_ns));
        let end_ns = (end_s * 1e9) as u64;
        let skipped: u64 = plans.iter().map(|plan| schedule(plan).skip_to(end_ns)).sum();
        prop_assert_eq!(skipped, schedule(&whole).skip_to(end_ns));
        let after = |plan: &Plan| {
            let mut schedule = schedule(plan);
            schedule.skip_to(end_ns);
            schedule.next()
        };
        prop_assert_eq!(plans.iter().map(after).min().unwrap(), after(&whole));
    }

    #[test]
    fn users_of_all_parts_begin_as_those_of_the_whole(
        (from, more, is_ramp) in (0..40_usize, 0..60_usize, any::<bool>()),
        over_s in 0.001..50.0,
        of in 1..=8_usize,
        warming in option::of((option::of(0.0..1.0), 0.001..5.0)),
        threads in 1..=5_usize,
    ) {
        let connections = (from + more).max(of);
        let (pause_ms, pause) = (0.0, PauseKind::Fixed);
        let shape = if is_ramp {
            ShapeSpec::Ramp { from_connections: from, to_connections: connections, over_s, pause_ms, pause }
        } else {
            ShapeSpec::Closed { connections, pause_ms, pause }
        };
        let warm_up = warming.map(|(share, duration_s)| {
            warm_up(share.map(|share: f64| 1 + (share * (connections - 1) as f64) as usize), duration_s)
        });
        let spec = TrialSpec { threads, ..spec(shape, warm_up) };
        let plans = parts_of(&spec, of);
        let users: Vec<usize> = plans.iter().map(|plan| plan.shape.connections()).collect();
        prop_assert_eq!(users.iter().sum::<usize>(), connections);
        prop_assert!(users[0] - users[of - 1] <= 1);
        let mut begin: Vec<_> = plans.iter().flat_map(first_requests).collect();
        begin.sort_unstable();
        prop_assert_eq!(begin, first_requests(&planned(&spec)));
    }

    #[test]
    fn requests_of_all_parts_have_the_numbers_and_lines_of_the_whole(count in 0..200_usize, of in 1..=8_usize) {
        let mut all: Vec<_> = parts(of).into_iter().flat_map(|part| values(part, part.share(count))).collect();
        all.sort_unstable();
        prop_assert_eq!(all, values(Part::WHOLE, count));
    }

    #[test]
    fn rates_of_poisson_parts_add_up_and_none_is_drawn_as_another(
        (rates, lead_s) in rates(),
        of in 2..=8_usize,
        seed in any::<u64>(),
    ) {
        let shape = ShapeSpec::Open { connections: 8, arrivals: Arrivals::Poisson, rates };
        let spec = TrialSpec { seed, ..spec(shape, lead_s.map(|lead_s| warm_up(None, lead_s))) };
        let (whole, plans) = (planned(&spec), parts_of(&spec, of));
        for (place, stretch) in open(&whole).stretches.iter().enumerate() {
            let stretches = plans.iter().map(|plan| open(plan).stretches[place]);
            let (from, to) = stretches.fold((0.0, 0.0), |(from, to), each| (from + each.from_per_ns, to + each.to_per_ns));
            prop_assert!((from - stretch.from_per_ns).abs() <= 1e-12 * stretch.from_per_ns);
            prop_assert!((to - stretch.to_per_ns).abs() <= 1e-12 * stretch.to_per_ns);
        }
        let seeds: BTreeSet<u64> = plans.iter().map(|plan| plan.seed).collect();
        prop_assert_eq!(seeds.len(), of);
        let due_ns: BTreeSet<Vec<u64>> = plans.iter().map(|plan| schedule(plan).take(5).collect()).collect();
        prop_assert_eq!(due_ns.len(), of);
    }
}

/// Returns the due times of all parts of 20,000 Poisson arrivals per second, for five seconds.
fn poisson(of: usize, seed: u64) -> Vec<u64> {
    let rates = vec![RateSpec { from_per_s: 20_000.0, to_per_s: 20_000.0, duration_s: 1.0 }];
    let shape = ShapeSpec::Open { connections: 8, arrivals: Arrivals::Poisson, rates };
    let spec = TrialSpec { seed, ..spec(shape, None) };
    let of_five_s = |plan: &Plan| schedule(plan).take_while(|&ns| ns < 5_000_000_000).collect::<Vec<u64>>();
    let mut due_ns: Vec<u64> = parts_of(&spec, of).iter().flat_map(of_five_s).collect();
    due_ns.sort_unstable();
    due_ns
}

#[test]
fn gaps_of_all_poisson_parts_are_exponential() {
    for of in 1..=8 {
        let due_ns = poisson(of, of as u64);
        let mut gaps: Vec<f64> = due_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        gaps.sort_by(f64::total_cmp);
        let count = gaps.len() as f64;
        // Kolmogorov-Smirnov against 1 - exp(-x): the distance exceeds 1.95 / sqrt(n) once in a thousand.
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(place, gap)| ((1.0 - (-gap / 50_000.0).exp()) - (place as f64 + 0.5) / count).abs());
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / count.sqrt(), "{distance} of {of} parts");
    }
}

#[test]
fn numbers_of_all_poisson_parts_have_the_variance_of_their_mean() {
    for of in 1..=8 {
        let mut counts = vec![0.0; 500];
        for due_ns in poisson(of, 100 + of as u64) {
            counts[(due_ns / 10_000_000) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 500.0;
        let variance = counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / 500.0;
        // The bounds are five standard errors away: 0.63 of the mean, and 6.3 % of the variance.
        assert!((mean - 200.0).abs() < 3.2, "{mean} of {of} parts");
        assert!((variance / mean - 1.0).abs() < 0.32, "{variance} of {of} parts");
    }
}
