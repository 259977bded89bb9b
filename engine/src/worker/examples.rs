//! Which exchanges are kept as examples: of each kind of request, outcome and status the first.

use crate::connection::Wire;
use crate::net::Network;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::record::Example;
use crate::tally::Tally;
use crate::user::User;

/// Of a body that is wrong nothing was kept, since it looked right: so many answers after it are kept in case
/// another one is.
const LOOKED_AT_NEXT: u32 = 1_000;
/// Of one kind at most: a server may make up statuses.
const MOST_EXAMPLES: usize = 32;

/// Outcome and status of an example.
type Shown = (Outcome, Option<u16>);

pub struct Examples {
    /// By kind.
    had: Box<[Vec<Shown>]>,
}

impl Examples {
    pub fn new(plan: &Plan) -> Self {
        Self { had: plan.requests.iter().map(|_| Vec::new()).collect() }
    }

    /// Keeps the exchange of `user` that has ended `at_ns` after the first instant, where it is the first of its kind.
    #[cold]
    pub fn keep<N: Network>(
        &mut self,
        user: &mut User<N::Socket>,
        wire: &mut Wire<N>,
        outcome: Outcome,
        at_ns: u64,
        tally: &mut Tally,
    ) {
        let kind = user.connection.kind();
        let status = user.connection.status();
        let had = &mut self.had[usize::from(kind)];
        let keep = &mut wire.memos[usize::from(kind)].keep;
        if had.contains(&(outcome, status)) || keep.enough {
            return;
        }
        if outcome == Outcome::WrongBody && !user.connection.is_kept() {
            keep.more = LOOKED_AT_NEXT;
            return;
        }
        if let Some(status) = status {
            keep.had.push(status);
        }
        keep.more = 0;
        had.push((outcome, status));
        keep.enough = had.len() == MOST_EXAMPLES;
        let kept = user.connection.take_kept();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let example = Example {
            outcome,
            status,
            at_ns,
            request: text(user.connection.request(wire.plan)),
            head: text(&kept.head),
            body: text(&kept.body),
        };
        tally.examples.push((kind, example));
    }
}
