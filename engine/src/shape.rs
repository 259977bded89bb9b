//! Load shapes: when requests are due, and which users send them. They have no sockets and no clock.

pub mod closed;
pub mod open;
pub mod pause;
pub mod ramp;
pub mod schedule;
pub mod timetable;

use crate::part::Part;
use crate::phase::WarmUp;

/// The shape of a trial, after all checks.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Users who wait for each answer. With a ramp, they do not all begin at once.
    Closed(closed::Closed),
    /// A schedule that waits for no answer.
    Open(schedule::Open),
}

impl Shape {
    /// Returns this part of the shape. It must have a connection for each part.
    pub fn part(self, part: Part) -> Self {
        match self {
            Self::Closed(closed) => Self::Closed(closed.part(part)),
            Self::Open(open) => Self::Open(open.part(part)),
        }
    }

    /// Returns the most connections that the shape may use.
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed(closed) => closed.connections,
            Self::Open(open) => open.connections,
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    pub fn is_ramp(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.ramp.is_some())
    }

    /// Returns whether the measured phase goes on with the users of the warm-up, who then behave as before.
    pub fn goes_on_after(&self, warm_up: Option<&WarmUp>) -> bool {
        let pauses = warm_up.is_none_or(|warm_up| warm_up.pauses);
        matches!(self, Self::Closed(closed) if closed.ramp.is_none() && (pauses || closed.pause.is_none()))
    }
}
