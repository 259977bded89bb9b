//! What a spec says of its load: when requests are due, by how many connections, and what ends its phases.

use crate::bounds;
use crate::faults::Faults;
use crate::part::Part;
use crate::phase::{Stop, Turn, WarmUp};
use crate::shape::Shape;
use crate::shape::closed::Closed;
use crate::shape::pause::Pause;
use crate::shape::ramp::Ramp;
use crate::shape::schedule::{Open, Stretch};
use crate::spec::{self, RateSpec, ShapeSpec, StopSpec, WarmUpSpec};

impl ShapeSpec {
    pub(super) fn meant(&self, faults: &mut Faults) -> Shape {
        match *self {
            Self::Closed { connections, pause_ms, pause } => {
                let connections = faults.within(connections, bounds::CONNECTIONS, "shape.connections");
                let pause = pause.meant(pause_ms, faults);
                Shape::Closed(Closed { connections, pause, ramp: None, part: Part::WHOLE })
            }
            Self::Ramp { from_connections: from, to_connections: to, over_s, pause_ms, pause } => {
                let to = faults.within(to, bounds::CONNECTIONS, "shape.to_connections");
                let from = faults.within(from, 0..=to, "shape.from_connections");
                let over_ns = seconds(over_s, "shape.over_s", faults);
                let (ramp, pause) = (Some(Ramp { from, to, over_ns }), pause.meant(pause_ms, faults));
                Shape::Closed(Closed { connections: to, pause, ramp, part: Part::WHOLE })
            }
            Self::Open { connections, arrivals, ref rates } => {
                let connections = faults.within(connections, bounds::CONNECTIONS, "shape.connections");
                faults.within(rates.len(), bounds::STRETCHES, "the number of shape.rates");
                faults.unless(
                    rates.last().is_some_and(|last| last.to_per_s > 0.0),
                    "shape.rates",
                    "must end above 0",
                );
                let stretches = rates.iter().enumerate().map(|(index, rate)| rate.meant(index, faults));
                let stretches = stretches.collect();
                Shape::Open(Open { connections, arrivals, stretches, part: Part::WHOLE })
            }
        }
    }
}

impl RateSpec {
    fn meant(&self, index: usize, faults: &mut Faults) -> Stretch {
        let key = format!("shape.rates[{index}]");
        let mut rate = |per_s: f64, end: &str| match per_s {
            0.0 => 0.0,
            _ => faults.within(per_s, bounds::PER_S, &format!("{key}.{end}")),
        };
        let (from, to) = (rate(self.from_per_s, "from_per_s"), rate(self.to_per_s, "to_per_s"));
        faults.unless(from + to > 0.0, &key, "must not be 0 all the way");
        let length_ns = seconds(self.duration_s, &format!("{key}.duration_s"), faults) as f64;
        Stretch { from_per_ns: from / 1e9, to_per_ns: to / 1e9, length_ns }
    }
}

impl spec::PauseKind {
    fn meant(self, pause_ms: f64, faults: &mut Faults) -> Pause {
        let ns = faults.within(pause_ms, bounds::PAUSE_MS, "shape.pause_ms") * 1e6;
        match self {
            Self::Exponential if ns > 0.0 => Pause::Exponential { mean_ns: ns },
            _ => Pause::Fixed { ns: ns as u64 },
        }
    }
}

impl WarmUpSpec {
    pub(super) fn meant(&self, shape: &Shape, faults: &mut Faults) -> WarmUp {
        let (first, all) = match shape {
            Shape::Closed(closed) => {
                (closed.ramp.map_or(closed.connections, |ramp| ramp.from), closed.connections)
            }
            Shape::Open(open) => (open.connections, open.connections),
        };
        let connections =
            faults.within(self.connections.unwrap_or(first.max(1)), 1..=all, "warm_up.connections");
        let stop = self.stop.meant("warm_up.stop", faults);
        if let Shape::Open(open) = shape {
            faults.unless(
                stop.requests.is_none() && self.connections.is_none(),
                "warm_up",
                "of an open shape is by duration, over the connections it needs",
            );
            faults.unless(
                open.stretches.first().is_some_and(|first| first.from_per_ns > 0.0),
                "warm_up",
                "keeps the first rate of the schedule, which is 0",
            );
        }
        WarmUp { connections, pauses: self.pauses, stop }
    }
}

impl spec::TurnSpec {
    /// `connections`: those of the shape; `written`: the warm-up, whose connections a turn has that only warms up.
    pub(super) fn meant(
        &self,
        index: usize,
        connections: usize,
        written: Option<WarmUp>,
        faults: &mut Faults,
    ) -> Turn {
        let key = format!("turns[{index}]");
        let within_ns = seconds(self.warm_up_s, &format!("{key}.warm_up_s"), faults);
        let stop = Stop { requests: None, within_ns };
        if self.measured_s == 0.0 {
            let connections = written.map_or(connections, |written| written.connections);
            return Turn { warm_up: WarmUp { connections, pauses: true, stop }, measured_ns: 0 };
        }
        let measured_ns = seconds(self.measured_s, &format!("{key}.measured_s"), faults);
        Turn { warm_up: WarmUp { connections, pauses: true, stop }, measured_ns }
    }
}

impl StopSpec {
    pub(super) fn meant(self, key: &str, faults: &mut Faults) -> Stop {
        match self {
            Self::Requests { requests, within_s } => {
                let requests = faults.within(requests, bounds::REQUESTS, &format!("{key}.requests"));
                let within_ns = seconds(within_s, &format!("{key}.within_s"), faults);
                Stop { requests: Some(requests), within_ns }
            }
            Self::Duration { duration_s } => {
                let within_ns = seconds(duration_s, &format!("{key}.duration_s"), faults);
                Stop { requests: None, within_ns }
            }
        }
    }
}

pub(super) fn seconds(value: f64, key: &str, faults: &mut Faults) -> u64 {
    (faults.within(value, bounds::SECONDS, key) * 1e9).round() as u64
}
