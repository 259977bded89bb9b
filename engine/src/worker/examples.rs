//! Which exchanges are kept as examples: the first of each kind of request, outcome, reason and status.

use crate::connection::Wire;
use crate::net::Network;
use crate::outcome::{Outcome, Reason};
use crate::plan::Plan;
use crate::record::Example;
use crate::tally::Tally;
use crate::user::User;

/// If an answer looked right until its body turned out wrong or was cut off, nothing of it was kept. So this many of
/// the answers after it are kept, in case another one ends in the same way.
const LOOKED_AT_NEXT: u32 = 1_000;
/// The most examples of one kind, as a server may send any number of statuses.
const MOST_EXAMPLES: usize = 32;

/// An example that exists.
#[derive(Clone, Copy)]
struct Had {
    outcome: Outcome,
    reason: Option<Reason>,
    status: Option<u16>,
    /// Whether nothing was kept of its answer, although a head came.
    is_bare: bool,
}

pub struct Examples {
    /// By kind.
    had: Box<[Vec<Had>]>,
}

impl Examples {
    pub const BYTES_PER_KIND: usize = size_of::<Vec<Had>>();

    pub fn new(plan: &Plan) -> Self {
        Self { had: plan.requests.iter().map(|_| Vec::new()).collect() }
    }

    /// Keeps the exchange of `user` that ended `at_ns` after the first instant, if it is the first of its kind,
    /// outcome, reason and status, or the first of which something was kept.
    #[cold]
    pub fn keep<N: Network>(
        &mut self,
        user: &mut User<N::Socket>,
        wire: &mut Wire<N>,
        outcome: Outcome,
        reason: Option<Reason>,
        at_ns: u64,
        tally: &mut Tally,
    ) {
        let kind = user.connection.kind();
        let status = user.connection.status();
        let had = &mut self.had[usize::from(kind)];
        let keep = &mut wire.memos[usize::from(kind)].keep;
        let same = |each: &Had| (each.outcome, each.reason, each.status) == (outcome, reason, status);
        let place = had.iter().position(same);
        if place.map_or(had.len() == MOST_EXAMPLES, |place| !had[place].is_bare) {
            return;
        }
        let is_bare = status.is_some() && !user.connection.is_kept();
        keep.more = if is_bare { LOOKED_AT_NEXT } else { 0 };
        match place {
            Some(_) if is_bare => return,
            Some(place) => had[place].is_bare = false,
            None => had.push(Had { outcome, reason, status, is_bare }),
        }
        keep.had.extend(status.filter(|_| !is_bare));
        keep.enough = had.len() == MOST_EXAMPLES && !had.iter().any(|each| each.is_bare);
        let kept = user.connection.take_kept();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let example = Example {
            outcome,
            status,
            reason,
            at_ns,
            request: text(user.connection.request(wire.plan)),
            head: text(&kept.head),
            body: text(&kept.body),
        };
        tally.examples.push((kind, example));
    }
}
