//! Whether the requests that came on a connection are answered, by counting. If all requests of a load are equally long, and all
//! answers, then what has come tells how many requests came, and what the server has written how many it has answered.
//! No clock is needed, so an exchange may be as short as it likes. Bytes are counted or, where they differ, segments:
//! most requests are one segment, and a server mostly writes an answer with the same number of calls. Pure.
//!
//! How long an answer is has to be learned: of n requests that came on a connection, n or n - 1 are answered, and
//! the length must fit all connections.

use super::tcp_end::End;

/// With fewer requests on each connection several lengths fit.
const REQUESTS_LEAST: u64 = 3;
/// If more than this share of the connections does not fit, answers differ in length after all. Some may not be the
/// load's, or a segment was sent again on them.
const MISFITS_MOST: f64 = 0.1;

/// What counting tells of a connection all of whose data were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// All requests that came have a whole answer.
    All,
    /// The last one has none, or a part of one.
    NotAll,
    /// Of the last one only a part has come.
    InPart,
}

/// Counts on the connections of one load.
pub struct Counting {
    ways: Vec<Way>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Segments,
}

/// One way to count, and what it has learned.
struct Way {
    request: Unit,
    /// The length of a request, in that unit.
    request_long: u64,
    answer: Unit,
    answer_long: Length,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Sought,
    Is(u64),
    Differs,
}

impl Counting {
    /// `request_bytes`: how long each request is, if all are equally long.
    pub fn new(request_bytes: Option<u64>) -> Self {
        let requests =
            request_bytes.map(|bytes| (Unit::Bytes, bytes)).into_iter().chain([(Unit::Segments, 1)]);
        let ways = requests.flat_map(|(request, request_long)| {
            [Unit::Bytes, Unit::Segments].map(|answer| Way {
                request,
                request_long,
                answer,
                answer_long: Length::Sought,
            })
        });
        Self { ways: ways.collect() }
    }

    /// Learns from what the kernel said of connections at one time.
    pub fn learn<'a>(&mut self, ends: impl Iterator<Item = &'a End> + Clone) {
        self.ways.iter_mut().for_each(|way| way.learn(ends.clone()));
    }

    /// Returns what counting tells of a connection; `None`: nothing.
    pub fn answered(&self, end: &End) -> Option<Answered> {
        self.ways.iter().find_map(|way| way.answered(end))
    }
}

impl Way {
    fn learn<'a>(&mut self, ends: impl Iterator<Item = &'a End>) {
        let carried: Vec<(u64, u64)> = ends.filter_map(|end| self.carried(end)).collect();
        let Some(&(most, written)) = carried.iter().max_by_key(|&&(requests, _)| requests) else {
            return;
        };
        let misfits =
            |long: u64| carried.iter().filter(|&&(requests, written)| !fits(long, requests, written)).count();
        match self.answer_long {
            Length::Is(long) if misfits(long) as f64 > MISFITS_MOST * carried.len() as f64 => {
                self.answer_long = Length::Differs;
            }
            Length::Sought if most >= REQUESTS_LEAST => {
                let lengths =
                    [most, most - 1].map(|answers| (written.is_multiple_of(answers), written / answers));
                let fitting = |&(is_whole, long): &(bool, u64)| is_whole && long > 0 && misfits(long) == 0;
                let mut fitting = lengths.iter().filter(|each| fitting(each));
                if let (Some(&(_, long)), None) = (fitting.next(), fitting.next()) {
                    self.answer_long = Length::Is(long);
                }
            }
            _ => {}
        }
    }

    fn answered(&self, end: &End) -> Option<Answered> {
        let Length::Is(long) = self.answer_long else {
            return None;
        };
        let (requests, written) = self.carried(end)?;
        if !fits(long, requests, written) {
            return None;
        }
        let is_whole = self.request == Unit::Segments
            || end.traffic.is_some_and(|traffic| traffic.received_bytes.is_multiple_of(self.request_long));
        Some(match (is_whole, written < requests * long) {
            (false, _) => Answered::InPart,
            (true, true) => Answered::NotAll,
            (true, false) => Answered::All,
        })
    }

    /// Returns how many whole requests came on a connection that goes on, and how much the server has written.
    fn carried(&self, end: &End) -> Option<(u64, u64)> {
        let traffic = end.traffic.filter(|_| end.may_send && end.may_hear)?;
        let came = match self.request {
            Unit::Bytes => traffic.received_bytes,
            Unit::Segments => traffic.received_segments.into(),
        };
        let written = match self.answer {
            Unit::Bytes => traffic.acknowledged_bytes + u64::from(end.unacknowledged_bytes),
            Unit::Segments => traffic.sent_segments.into(),
        };
        Some((came / self.request_long, written))
    }
}

/// Returns whether a server may have written so much after so many requests if an answer is `long`.
fn fits(long: u64, requests: u64, written: u64) -> bool {
    (requests.saturating_sub(1) * long..=requests * long).contains(&written)
}

#[cfg(test)]
#[path = "counting_tests.rs"]
mod tests;
