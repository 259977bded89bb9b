//! The variants of a loop, as they are named on the command line.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Epoll,
    /// Multishot receives into a ring of buffers, sends without a completion, one call per batch.
    Uring,
}

/// How a loop waits for answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until there is an answer.
    Endless,
    /// With a timeout, which is set anew each time.
    Timeout,
    /// Until there is an answer, or until a timer is due that was set once and fires every 100 ms.
    Timerfd,
}

#[derive(Clone, Debug)]
pub struct Variant {
    pub name: String,
    pub backend: Backend,
    /// Receives with the kernel's timestamps, reads the clock and stores each response time.
    pub stamped: bool,
    /// Also stores the time to the first byte.
    pub first_byte: bool,
    /// 1: receives, counts and sends one by one. 2: receives and counts all, then sends all.
    /// 3: receives all, counts all, sends all.
    pub passes: u8,
    pub wait: Wait,
    /// The number of cache lines of a user. Each is read and written when an answer comes and when a request is sent.
    pub lines: usize,
    /// Bytes of a large answer after its first piece are not copied (MSG_TRUNC, tcp(7)).
    pub discards: bool,
    /// Wakes for the rest of a large answer only when all of it has come, or this much (SO_RCVLOWAT).
    pub low_water_bytes: Option<usize>,
    pub buffer_bytes: usize,
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut variant = Self {
            name: name.to_owned(),
            backend: Backend::Epoll,
            stamped: false,
            first_byte: false,
            passes: 1,
            wait: Wait::Endless,
            lines: 1,
            discards: false,
            low_water_bytes: None,
            buffer_bytes: 256 * 1024,
        };
        for feature in name.split('+') {
            variant.add(feature)?;
        }
        Ok(variant)
    }
}

impl Variant {
    fn add(&mut self, feature: &str) -> Result<(), String> {
        match feature {
            // The twin is the same loop on connections of its own: the difference between the two is noise.
            "bare" | "twin" => {}
            "stamped" => self.stamped = true,
            "uring" => self.backend = Backend::Uring,
            "first-byte" => self.first_byte = true,
            "two-passes" => self.passes = 2,
            "three-passes" => self.passes = 3,
            "timeout" => self.wait = Wait::Timeout,
            "timerfd" => self.wait = Wait::Timerfd,
            "two-lines" => self.lines = 2,
            "three-lines" => self.lines = 3,
            "four-lines" => self.lines = 4,
            "discard" => self.discards = true,
            "low-water" => self.low_water_bytes = Some(usize::MAX),
            "low-water-64k" => self.low_water_bytes = Some(64 * 1024),
            "low-water-128k" => self.low_water_bytes = Some(128 * 1024),
            "low-water-256k" => self.low_water_bytes = Some(256 * 1024),
            "low-water-512k" => self.low_water_bytes = Some(512 * 1024),
            "64k" => self.buffer_bytes = 64 * 1024,
            _ => {
                return Err(format!(
                    "unknown variant {feature:?}; variant.rs names them"
                ));
            }
        }
        Ok(())
    }
}
