//! The results of each kind of request in the measured phase, over all threads.

use std::collections::BTreeMap;

use super::sparse::Sparse;
use crate::histogram::hdr;
use crate::http::request::Request;
use crate::outcome::{Outcome, Outcomes, Reason};
use crate::record::{Example, HistogramRecord, RequestRecord};
use crate::tally::Tally;

pub struct Kinds {
    kinds: Vec<Kind>,
}

struct Kind {
    name: String,
    scheduled: u64,
    outcomes: Outcomes,
    statuses: BTreeMap<u16, u64>,
    /// Empty if there is one kind, whose times are those of all.
    response_time: Sparse,
    bodies_hashed: u64,
    /// Examples by outcome, reason and status: the earliest that has a head, or the earliest of all if none has one.
    examples: BTreeMap<(Outcome, Option<Reason>, Option<u16>), Example>,
}

impl Kinds {
    pub fn new(requests: &[Request]) -> Self {
        let kinds = requests.iter().map(|request| Kind {
            name: request.name.clone(),
            scheduled: 0,
            outcomes: Outcomes::default(),
            statuses: BTreeMap::new(),
            response_time: Sparse::default(),
            bodies_hashed: 0,
            examples: BTreeMap::new(),
        });
        Self { kinds: kinds.collect() }
    }

    /// Adds a tally of the measured phase.
    pub fn add(&mut self, tally: &Tally) {
        for (kind, part) in tally.kinds.counted() {
            let kind = &mut self.kinds[usize::from(kind)];
            kind.scheduled += part.scheduled;
            kind.outcomes += part.outcomes;
            for (status, count) in part.statuses.each() {
                *kind.statuses.entry(status).or_default() += count;
            }
            kind.bodies_hashed += part.bodies_hashed;
        }
        for &(kind, bucket) in tally.kinds.times() {
            self.kinds[usize::from(kind)].response_time.record(bucket);
        }
    }

    /// Keeps the examples of a tally of either phase.
    pub fn add_examples(&mut self, tally: &Tally) {
        for (kind, example) in &tally.examples {
            let had = &mut self.kinds[usize::from(*kind)].examples;
            let first = had
                .entry((example.outcome, example.reason, example.status))
                .or_insert_with(|| example.clone());
            // An example with a head says more than an earlier one without.
            if (example.head.is_empty(), example.at_ns) < (first.head.is_empty(), first.at_ns) {
                first.clone_from(example);
            }
        }
    }

    /// Returns the number of whole answers so far, by status.
    pub fn statuses(&self) -> BTreeMap<u16, u64> {
        let mut sum = BTreeMap::new();
        for (&status, &count) in self.kinds.iter().flat_map(|kind| &kind.statuses) {
            *sum.entry(status).or_default() += count;
        }
        sum
    }

    pub fn bodies_hashed(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.bodies_hashed).sum()
    }

    /// Returns the records. `all` are the response times of all kinds together.
    pub fn records(self, all: &HistogramRecord) -> Vec<RequestRecord> {
        let is_one = self.kinds.len() == 1;
        let mut times = hdr();
        let mut response_time = |kind: &Kind| {
            if is_one {
                return all.clone();
            }
            times.reset();
            kind.response_time.add_to(&mut times);
            HistogramRecord::of(&times)
        };
        let record = |kind: Kind| RequestRecord {
            response_time: response_time(&kind),
            name: kind.name,
            scheduled: kind.scheduled,
            outcomes: kind.outcomes,
            statuses: kind.statuses,
            bodies_hashed: kind.bodies_hashed,
            examples: kind.examples.into_values().collect(),
        };
        self.kinds.into_iter().map(record).collect()
    }
}
