//! Specs with numbers at which sums, products and conversions go wrong. Each spec is refused in a sentence, or
//! everything that is laid out for it holds. This is a bounded part of what fuzz/fuzz_targets/plan.rs does without
//! end.

mod spec_space;

use std::ops::Range;

use crumple_engine::spec::{
    Arrivals, ConnectionUse, Pacing, PartSpec, PauseKind, RateSpec, ShapeSpec, StopSpec, TimeoutSpec,
    TrialSpec, WarmUpSpec,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use spec_space::assert_holds;

/// Returns a configuration with this many cases, which are the same in every run.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(42),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const WHOLE: &[u64] =
    &[0, 1, 2, 1 << 32, 1 << 53, 1 << 58, 1 << 63, u64::MAX - 1, u64::MAX, 4_000_000, 86_400_000];
const REAL: &[f64] = &[
    0.0,
    -0.0,
    -1.0,
    f64::MIN_POSITIVE,
    1e-300,
    1e-9,
    1e-6,
    1e-3,
    1.0,
    86_400.0,
    86_400.000_1,
    1e7,
    1e18,
    1e300,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

/// Mostly numbers that make sense, and sometimes others.
fn whole(sensible: Range<u64>) -> impl Strategy<Value = u64> {
    prop_oneof![12 => sensible, 1 => select(WHOLE), 1 => any::<u64>()]
}

fn count(sensible: Range<u64>) -> impl Strategy<Value = usize> {
    whole(sensible).prop_map(|count| count as usize)
}

fn real(sensible: impl Strategy<Value = f64>) -> impl Strategy<Value = f64> {
    prop_oneof![12 => sensible, 1 => select(REAL), 1 => any::<f64>()]
}

fn seconds() -> impl Strategy<Value = f64> {
    real(prop_oneof![1e-6..1e-3, 1e-3..10.0, 10.0..=86_400.0])
}

fn per_s() -> impl Strategy<Value = f64> {
    real(prop_oneof![Just(0.0), 1e-6..1.0, 1.0..1e4, 1e4..=1e7])
}

fn rates() -> impl Strategy<Value = RateSpec> {
    (per_s(), per_s(), seconds()).prop_map(|(from_per_s, to_per_s, duration_s)| RateSpec {
        from_per_s,
        to_per_s,
        duration_s,
    })
}

fn shapes() -> impl Strategy<Value = ShapeSpec> {
    let pause = || select(&[PauseKind::Fixed, PauseKind::Exponential][..]);
    let pause_ms = || real(prop_oneof![Just(0.0), 0.0..1e4, 0.0..=86_400_000.0]);
    let connections = || count(1..5_000);
    prop_oneof![
        (connections(), pause_ms(), pause()).prop_map(|(connections, pause_ms, pause)| ShapeSpec::Closed {
            connections,
            pause_ms,
            pause
        }),
        (count(0..9), connections(), seconds(), pause_ms(), pause()).prop_map(
            |(from_connections, to_connections, over_s, pause_ms, pause)| ShapeSpec::Ramp {
                from_connections,
                to_connections,
                over_s,
                pause_ms,
                pause
            }
        ),
        (connections(), select(&[Arrivals::Even, Arrivals::Poisson][..]), vec(rates(), 0..5))
            .prop_map(|(connections, arrivals, rates)| ShapeSpec::Open { connections, arrivals, rates }),
    ]
}

fn stops() -> impl Strategy<Value = StopSpec> {
    prop_oneof![
        (whole(1..1_000_000), seconds())
            .prop_map(|(requests, within_s)| StopSpec::Requests { requests, within_s }),
        seconds().prop_map(|duration_s| StopSpec::Duration { duration_s }),
    ]
}

fn warm_ups() -> impl Strategy<Value = Option<WarmUpSpec>> {
    let by_time = seconds().prop_map(|duration_s| StopSpec::Duration { duration_s });
    let stop = prop_oneof![3 => by_time, 1 => stops()];
    let warm_up = (option::weighted(0.3, count(1..5)), any::<bool>(), stop)
        .prop_map(|(connections, pauses, stop)| WarmUpSpec { connections, pauses, stop });
    option::of(warm_up)
}

fn specs() -> impl Strategy<Value = TrialSpec> {
    let golden: TrialSpec = serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap();
    let machine = (count(1..64), vec(count(0..64), 0..4), any::<bool>(), any::<bool>());
    let probe =
        (whole(1..10_000), option::of(whole(1..4_194_304)), whole(1..10_000), vec(whole(0..1 << 40), 0..4));
    let load = (shapes(), stops(), warm_ups(), seconds(), seconds());
    let request = (whole(1..9), option::of(whole(100..1_000)), whole(0..1 << 40), any::<u32>());
    let part = option::weighted(0.3, (count(0..3), count(1..4)));
    let part = part.prop_map(|part| part.map(|(index, of)| PartSpec { index, of }));
    (load, machine, probe, vec(request, 0..4), part, any::<u64>()).prop_map(move |all| {
        let (load, (threads, cores, spins, is_per_request), probe, requests, part, seed) = all;
        let mut spec = TrialSpec { threads, cores, part, seed, ..golden.clone() };
        let (connect_s, request_s);
        (spec.shape, spec.stop, spec.warm_up, connect_s, request_s) = load;
        spec.timeouts = TimeoutSpec { connect_s, request_s };
        spec.pacing = if spins { Pacing::Spin } else { Pacing::Sleep };
        spec.connection = if is_per_request { ConnectionUse::PerRequest } else { ConnectionUse::KeepAlive };
        let (interval_ms, server_pid, every_ms, slower_than_ns) = probe;
        (spec.probe.interval_ms, spec.probe.server_pid) = (interval_ms, server_pid.map(|pid| pid as i32));
        spec.probe.tasks = server_pid.is_some(); // Without a server it would be refused for this alone.
        spec.probe.dependencies = spec.probe.server_pid.is_some();
        (spec.progress.every_ms, spec.progress.slower_than_ns) = (every_ms, slower_than_ns);
        for (weight, status, body_bytes, hash_one_in) in requests {
            let mut request = golden.requests[0].clone();
            request.weight = weight as u32;
            request.expect.status = status.map(|status| status as u16);
            request.expect.body_bytes = Some(body_bytes);
            request.expect.hash_one_in = hash_one_in;
            spec.requests.push(request);
        }
        spec
    })
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn what_can_be_planned_is_finite_and_in_order_and_nothing_panics(spec in specs()) {
        assert_holds(&spec);
    }

    #[test]
    fn a_schedule_of_any_lawful_rates_is_in_order(
        rates in vec((prop_oneof![Just(0.0), 1e-6..1.0, 1.0..=1e7], 1e-6..=1e7, 1e-6..=86_400.0_f64), 1..6),
        arrivals in select(&[Arrivals::Even, Arrivals::Poisson][..]),
        warm_up_s in option::of(1e-6..=86_400.0_f64),
    ) {
        let mut spec: TrialSpec =
            serde_json::from_str(include_str!("../../contract/golden/spec.json")).unwrap();
        let rate = |(from_per_s, to_per_s, duration_s)| RateSpec { from_per_s, to_per_s, duration_s };
        let rates: Vec<RateSpec> = rates.into_iter().map(rate).collect();
        let stop = |duration_s| StopSpec::Duration { duration_s };
        spec.warm_up = warm_up_s
            .filter(|_| rates[0].from_per_s > 0.0)
            .map(|warm_up_s| WarmUpSpec { connections: None, pauses: true, stop: stop(warm_up_s) });
        spec.stop = stop(60.0);
        spec.shape = ShapeSpec::Open { connections: 10, arrivals, rates };
        prop_assert!(assert_holds(&spec));
    }
}

#[test]
fn both_what_can_be_planned_and_what_cannot_is_among_them() {
    let mut runner = TestRunner::new(cases(1));
    let specs = specs();
    let planned = (0..300).filter(|_| assert_holds(&specs.new_tree(&mut runner).unwrap().current())).count();
    assert!((20..=280).contains(&planned), "{planned} of 300");
}
