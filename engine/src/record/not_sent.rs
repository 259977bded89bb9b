//! How many requests of a trial were not sent, by the reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why requests were not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotSent {
    /// No connection was free before the phase ended or the request timed out.
    pub too_late: u64,
    /// No local port was left to connect from.
    pub ports: u64,
    /// No descriptor was left.
    pub descriptors: u64,
    /// The kernel had no memory for another socket, or for watching it.
    pub memory: u64,
    /// A rule of this machine forbade it: a firewall, or the permissions of a socket's file.
    pub forbidden: u64,
    /// This machine has no route to the server's address.
    pub route: u64,
}

/// Why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSentReason {
    TooLate,
    Ports,
    Descriptors,
    Memory,
    Forbidden,
    Route,
}

impl NotSent {
    pub fn count(&mut self, reason: NotSentReason) {
        *match reason {
            NotSentReason::TooLate => &mut self.too_late,
            NotSentReason::Ports => &mut self.ports,
            NotSentReason::Descriptors => &mut self.descriptors,
            NotSentReason::Memory => &mut self.memory,
            NotSentReason::Forbidden => &mut self.forbidden,
            NotSentReason::Route => &mut self.route,
        } += 1;
    }
}

impl std::ops::AddAssign for NotSent {
    fn add_assign(&mut self, other: Self) {
        self.too_late += other.too_late;
        self.ports += other.ports;
        self.descriptors += other.descriptors;
        self.memory += other.memory;
        self.forbidden += other.forbidden;
        self.route += other.route;
    }
}
