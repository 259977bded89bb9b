use super::*;
use crate::faults::Faults;
use crate::http::answer::Expectation;
use crate::http::request::Message;
use crate::spec::{ExpectSpec, PartSpec, RequestSpec, Target};
use crate::written::Written;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

fn request(path: &str, body: Option<&str>, weight: u32) -> Request {
    let spec = RequestSpec {
        name: String::new(),
        method: "GET".into(),
        path: path.into(),
        headers: vec![],
        body: body.map(Into::into),
        body_file: None,
        body_parts: None,
        varies: true,
        weight,
        expect: ExpectSpec { status: None, body_bytes: None, body_sha256: None, hash_one_in: 0 },
    };
    let target = Target { address: "a:80".into(), host: "a".into(), tls: None, proxy: None, sources: vec![] };
    let mut faults = Faults::default();
    let message = Message::new(&spec, &target, &Arc::default(), "requests[0]", &mut faults);
    faults.none().map_err(|failure| failure.error).unwrap();
    let expect =
        Expectation { status: None, body_bytes: None, sha256: [0; 32], hash_one_in: 0, without_body: false };
    Request { name: String::new(), message, is_idempotent: true, weight, expect }
}

/// The kind of a request, and its path if that varies.
type Taken = (u16, Option<String>);

/// Takes `count` requests from each of `threads` feeds.
fn take(requests: &[Request], threads: usize, count: usize, seed: u64) -> Vec<Vec<Taken>> {
    take_of(Part::WHOLE, requests, threads, count, seed)
}

fn take_of(part: Part, requests: &[Request], threads: usize, count: usize, seed: u64) -> Vec<Vec<Taken>> {
    let (feeds, renderer) = feeds(requests, threads, part, seed);
    thread::scope(|scope| {
        renderer.map(|renderer| scope.spawn(|| renderer.run()));
        let takers: Vec<_> = feeds
            .into_iter()
            .map(|mut feed| scope.spawn(move || (0..count).map(|_| (feed.next(), path(&feed))).collect()))
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    })
}

fn path(feed: &Feed) -> Option<String> {
    let text = String::from_utf8(feed.bytes()?.to_vec()).unwrap();
    assert!(text.starts_with("GET /") && text.ends_with("\r\n\r\n"), "{text}");
    Some(text.split(' ').nth(1).unwrap().to_owned())
}

fn numbers(taken: &[Taken]) -> Vec<u64> {
    taken.iter().filter_map(|(_, path)| path.as_ref()?[1..].parse().ok()).collect()
}

#[test]
fn fixed_requests_need_no_renderer() {
    let requests = [request("/a", None, 3), request("/b", None, 1)];
    assert!(feeds(&requests, 2, Part::WHOLE, 1).1.is_none());
    for taken in take(&requests, 2, 2048, 1) {
        assert_eq!(taken.iter().filter(|taken| **taken == (0, None)).count(), 1536);
        assert_eq!(taken.iter().filter(|taken| **taken == (1, None)).count(), 512);
    }
}

#[test]
fn numbers_are_unique_over_all_threads_and_rise_in_each() {
    let requests = [request("/{seq}", None, 1)];
    let count = 20 * BATCH_REQUESTS + 1;
    let taken = take(&requests, 3, count, 1);
    let each: Vec<Vec<u64>> = taken.iter().map(|taken| numbers(taken)).collect();
    assert!(each.iter().all(|numbers| numbers.len() == count && numbers.is_sorted()));
    let all: BTreeSet<u64> = each.concat().into_iter().collect();
    assert_eq!(all.len(), 3 * count);
    // The requests in store when the other feeds had ended were rendered and not taken.
    let rendered = (3 * count + 3 * BATCHES_PER_FEED * BATCH_REQUESTS) as u64;
    assert!(all.first() == Some(&1) && all.last() <= Some(&rendered), "{:?}", all.last());
}

#[test]
fn numbers_are_unique_over_all_parts_and_their_threads() {
    let (requests, count) = ([request("/{seq}", None, 1), request("/fixed", None, 1)], 3 * BATCH_REQUESTS);
    let mut all = BTreeSet::<u64>::new();
    for index in 0..3 {
        let part = Part::meant(Some(PartSpec { index, of: 3 }), &mut Faults::default());
        let taken = take_of(part, &requests, 2, count, 1);
        let own: Vec<u64> = taken.iter().flat_map(|taken| numbers(taken)).collect();
        assert!(own.iter().all(|number| (number - 1) % 3 == index as u64), "{own:?}");
        let before = all.len();
        all.extend(&own);
        assert_eq!(all.len(), before + own.len());
    }
}

#[test]
fn one_thread_leaves_out_no_number() {
    let requests = [request("/{seq}", None, 2), request("/fixed", None, 1), request("/{seq}", None, 1)];
    let taken = &take(&requests, 1, 10 * BATCH_REQUESTS, 1)[0];
    let numbers = numbers(taken);
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(taken.iter().all(|(kind, path)| (*kind == 1) == path.is_none()));
}

#[test]
fn proportions_are_exact_where_requests_vary_too() {
    let requests = [request("/{seq}", None, 5), request("/fixed", None, 3)];
    for taken in take(&requests, 2, 3 * 1024, 9) {
        assert_eq!(taken.iter().filter(|(kind, _)| *kind == 0).count(), 3 * 640);
    }
}

#[test]
fn a_thread_s_requests_are_the_seed_s() {
    let requests = [request("/{random:1-1000000}", None, 1), request("/fixed", None, 1)];
    let first = take(&requests, 2, 5 * BATCH_REQUESTS, 1);
    assert_eq!(first, take(&requests, 2, 5 * BATCH_REQUESTS, 1));
    assert_ne!(first, take(&requests, 2, 5 * BATCH_REQUESTS, 2));
    assert_ne!(first[0], first[1]);
}

#[test]
fn lines_follow_one_another_in_each_kind_of_request() {
    let words = Written::new("feed", "a\nb\nc\n");
    let text = format!("/{{line:{}}}", words.path());
    let requests = [request(&text, None, 1), request(&text, None, 1)];
    let taken = &take(&requests, 1, 1000, 4)[0];
    for kind in 0..2 {
        let lines = taken.iter().filter(|(of, _)| *of == kind).map(|(_, path)| path.as_deref().unwrap());
        assert!(lines.eq(
            ["/a", "/b", "/c"].into_iter().cycle().take(taken.iter().filter(|(of, _)| *of == kind).count())
        ));
    }
}

#[test]
fn large_requests_come_few_at_a_time() {
    let body = format!("{{seq}}{}", "x".repeat(BATCH_BYTES / 2));
    let requests = [request("/", Some(&body), 1)];
    let (_feeds, renderer) = feeds(&requests, 1, Part::WHOLE, 1);
    let batch = renderer.unwrap().first(0);
    assert_eq!(batch.requests.len(), 2);
}

#[test]
fn the_renderer_ends_with_its_last_feed() {
    let requests = [request("/{seq}", None, 1)];
    let (feeds, renderer) = feeds(&requests, 2, Part::WHOLE, 1);
    thread::scope(|scope| {
        let renderer = scope.spawn(|| renderer.unwrap().run());
        drop(feeds);
        renderer.join().unwrap();
    });
}

/// Returns whether a thread of this process sleeps.
fn sleeps(tid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
    stat[stat.rfind(')').unwrap()..].starts_with(") S ")
}

fn next_has_waited(feed: &mut Feed) -> bool {
    feed.next();
    feed.has_waited()
}

#[test]
fn a_request_that_had_to_be_waited_for_says_so_and_no_other() {
    let requests = [request("/{seq}", None, 1)];
    let (mut feeds, renderer) = feeds(&requests, 1, Part::WHOLE, 1);
    let (mut feed, renderer) = (feeds.remove(0), renderer.unwrap());
    let store = BATCHES_PER_FEED * BATCH_REQUESTS;
    assert!((0..store).all(|_| !next_has_waited(&mut feed)), "what was in store is there at once");
    let own_tid = rustix::thread::gettid().as_raw_nonzero().get();
    thread::scope(|scope| {
        scope.spawn(move || {
            while !sleeps(own_tid) {
                thread::yield_now();
            }
            renderer.run();
        });
        assert!(next_has_waited(&mut feed));
        assert!((1..BATCH_REQUESTS).all(|_| !next_has_waited(&mut feed)));
        drop(feed);
    });
}

#[test]
fn fixed_requests_are_never_waited_for() {
    let mut feeds = feeds(&[request("/a", None, 1)], 1, Part::WHOLE, 1).0;
    for _ in 0..5_000 {
        feeds[0].next();
        assert!(!feeds[0].has_waited());
    }
}
