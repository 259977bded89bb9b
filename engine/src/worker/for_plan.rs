//! The loop that a plan asks for: over real sockets, with the load of the plan's shape. No other part of the loop names
//! a shape or a kind of network.

use std::sync::mpsc::Receiver;

use super::examples::Examples;
use super::hash_sample::HashSample;
use super::{Loop, Place};
use crate::failure::Failure;
use crate::http::feed::Feed;
use crate::http::head::HeadMemo;
use crate::in_flight::InFlight;
use crate::ledger;
use crate::load::share;
use crate::net::kernel::Kernel;
use crate::phase::WarmUp;
use crate::plan::Plan;
use crate::shape::Shape;
use crate::shape::closed::ClosedLoad;
use crate::shape::open::OpenLoad;
use crate::shape::timetable::Timetable;
use crate::stream::Stream;
use crate::tally::Tally;
use crate::user::User;

/// The bytes that each user takes from the start.
pub const BYTES_PER_USER: usize = size_of::<User<Stream>>() + InFlight::BYTES_PER_USER;
/// The bytes that each kind of request takes on each thread from the start.
pub const BYTES_PER_KIND: usize = ledger::TALLIES * Tally::BYTES_PER_KIND
    + size_of::<HeadMemo>()
    + HeadMemo::ROOM_BYTES
    + size_of::<HashSample>()
    + Examples::BYTES_PER_KIND;

/// A worker for either shape.
pub enum Worker<'a> {
    Closed(Loop<'a, Kernel<'a>, ClosedLoad<'a>>),
    Open(Loop<'a, Kernel<'a>, OpenLoad<'a>>),
}

impl<'a> Worker<'a> {
    /// `timetable` is the schedule of an open shape, and `warm_up` that of the turn.
    ///
    /// # Errors
    /// If the kernel gives no epoll instance.
    pub fn new(
        plan: &'a Plan,
        place: Place<'a>,
        timetable: Option<&'a Timetable>,
        warm_up: Option<&WarmUp>,
    ) -> Result<Self, Failure> {
        let net = Kernel::new(plan)?;
        let threads = (place.thread, plan.threads);
        match (&plan.shape, timetable) {
            (Shape::Closed(shape), _) => {
                let load = ClosedLoad::new(shape, place.course, warm_up, threads, plan.seed);
                Ok(Self::Closed(Loop::new(plan, place, net, load)))
            }
            (Shape::Open(shape), Some(table)) => {
                let users = share(shape.connections, place.thread, plan.threads);
                let by_number = plan.stop.requests.is_some();
                let load = OpenLoad::new(table, place.course, users, plan.request_timeout_ns, by_number);
                Ok(Self::Open(Loop::new(plan, place, net, load)))
            }
            (Shape::Open(_), None) => Err(Failure::new("an open shape without its timetable")),
        }
    }

    /// Runs until the course is over. By then everything that it counted has gone to the collector, and its connections are
    /// closed. Returns its requests, and the end of the channel through which tallies come back.
    pub fn run(self) -> (Feed, Receiver<Box<Tally>>) {
        match self {
            Self::Closed(worker) => worker.run(),
            Self::Open(worker) => worker.run(),
        }
    }
}

// A request touches a random user among all users, so a user takes two cache lines.
const _: () = assert!(size_of::<User<Stream>>() == 128);
