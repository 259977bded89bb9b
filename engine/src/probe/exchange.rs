//! Whether a connection waits for an answer: whether the side that has opened it has sent data later than data have come.
//! Pure: what the kernel said of the connection is passed in, now and at the last look.
//!
//! The kernel's times advance every 1 to 10 ms, and a question and its answer often have the same. Acknowledgements then
//! tell the order. The other side acknowledges all data that had come with everything it sends, data too. So if data were
//! sent after the last that came, they are not acknowledged, or a segment without data has acknowledged them.

use super::tcp_end::{End, Traffic};

/// An acknowledgement without data comes up to this much later than the data that it acknowledges (TCP_DELACK_MAX, and the
/// way back). An answer to a probe of an idle connection (keepalive) comes a second later or more.
const ACKNOWLEDGED_LATER_MS: std::ops::RangeInclusive<u32> = 11..=300;
/// As long as so much is not acknowledged, a long question is being sent.
const LONG_BYTES: u32 = 16 * 1024;
/// The parts of a question follow one another sooner, by a tick of the kernel's clock at least.
const LATE_MS: u32 = 11;
/// The acknowledgement that opened the connection.
const BARE_AT_FIRST: u32 = 1;

/// Which data were last on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Sent,
    /// Or there were none at all.
    Received,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Data were sent, and no data have come since.
    Waiting,
    /// Nothing was sent since data came last, or the answer is there, or none can come.
    Idle,
    Unknown,
}

/// What one look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub last: Last,
    pub traffic: Traffic,
    /// Whether a long question was being sent.
    is_long: bool,
    /// The other end's traffic, as it was at this look or an earlier one.
    pub there: Option<Traffic>,
}

impl Look {
    /// `before`: the last look at the same connection.
    pub fn new(end: &End, traffic: Traffic, before: Option<&Self>) -> Self {
        let last = if end.unacknowledged_bytes > 0 { Last::Sent } else { last(&traffic, before) };
        let there = before.and_then(|before| before.there);
        Self { last, traffic, is_long: end.unacknowledged_bytes >= LONG_BYTES, there }
    }

    /// Returns whether nothing was sent and nothing has come since the look `before`.
    pub fn is_as(&self, before: &Self) -> bool {
        self.traffic.sent_bytes == before.traffic.sent_bytes
            && self.traffic.received_bytes == before.traffic.received_bytes
    }

    /// Returns whether data were sent or have come since the look `before`. The end of a connection is no data, but the
    /// kernel counts it among the bytes that came.
    pub fn has_exchanged_since(&self, before: &Self) -> bool {
        self.segments_since(before) != (0, 0)
    }

    /// Returns what happened since the look `before`, at which the connection waited: more was sent although nothing had
    /// come; or data have come. `None`: neither is certain.
    pub fn answered_since(&self, before: &Self) -> Option<bool> {
        let (sent, received) = self.since(&before.traffic);
        match before.last {
            Last::Sent if received => Some(true),
            Last::Sent if sent && !before.is_long => Some(false),
            _ => None,
        }
    }

    /// Returns what was first after the look `before`, at which nothing had been sent for some time and the connection
    /// waited: more was sent, although nothing had come; or data have come. `None`: neither is certain.
    pub fn answered_late(&self, before: &Self) -> Option<bool> {
        match self.first_after(before) {
            Last::Received if before.is_late() => Some(true),
            Last::Sent if before.is_late() => Some(false),
            _ => None,
        }
    }

    /// Returns whether more was sent than has come since the look `before`, at which nothing had been sent for some time and
    /// the connection waited, as it does again. Then the first may have been sent although nothing had come.
    pub fn went_on_sending(&self, before: &Self) -> bool {
        let (sent, received) = self.segments_since(before);
        let is_unclear = self.first_after(before) == Last::Unknown && received > 0;
        before.is_late() && is_unclear && self.last == Last::Sent && sent > received
    }

    /// Returns whether the connection waits, and nothing was sent for some time.
    pub fn is_late(&self) -> bool {
        self.last == Last::Sent && self.traffic.sent_ago_ms >= LATE_MS && !self.is_long
    }

    /// Returns which data were last at the look `before`, by what was first after it.
    pub fn last_before(&self, before: &Self) -> Last {
        match self.first_after(before) {
            Last::Sent => Last::Received,
            Last::Received => Last::Sent,
            Last::Unknown => Last::Unknown,
        }
    }

    /// Returns which data were first after the look `before`.
    fn first_after(&self, before: &Self) -> Last {
        let (sent, received) = self.segments_since(before);
        match self.since(&before.traffic) {
            (true, false) => Last::Sent,
            (false, true) => Last::Received,
            // All else was before the one segment that was last.
            (true, true) if self.last == Last::Received && received == 1 => Last::Sent,
            (true, true) if self.last == Last::Sent && sent == 1 => Last::Received,
            _ => Last::Unknown,
        }
    }

    /// Returns which data were last at the look `before`, by what is known now.
    pub fn settles(&self, before: &Self) -> Last {
        if self.is_as(before) { self.last } else { self.last_before(before) }
    }

    /// Returns how many segments with data were sent since, and how many have come.
    fn segments_since(&self, before: &Self) -> (u32, u32) {
        let (now, before) = (&self.traffic, &before.traffic);
        (
            now.sent_segments.wrapping_sub(before.sent_segments),
            now.received_segments.wrapping_sub(before.received_segments),
        )
    }

    /// Returns whether data were sent since, and whether data have come since.
    fn since(&self, before: &Traffic) -> (bool, bool) {
        (self.traffic.sent_bytes > before.sent_bytes, self.traffic.received_bytes > before.received_bytes)
    }
}

/// All data that were sent are acknowledged.
fn last(now: &Traffic, before: Option<&Look>) -> Last {
    if now.sent_bytes == 0 {
        return Last::Received;
    }
    if now.received_bytes == 0 {
        return Last::Sent;
    }
    // Another connection may have the same addresses by now.
    let before = before.filter(|before| {
        now.sent_bytes >= before.traffic.sent_bytes && now.received_bytes >= before.traffic.received_bytes
    });
    let bare_before = match before {
        None => Some(BARE_AT_FIRST),
        Some(Look { last, traffic, .. }) => {
            match (now.sent_bytes > traffic.sent_bytes, now.received_bytes > traffic.received_bytes) {
                (true, false) => return Last::Sent,
                (false, true) => return Last::Received,
                (false, false) if *last != Last::Unknown => return *last,
                // What was sent last may have been acknowledged before that look.
                (false, false) => None,
                (true, true) => Some(traffic.bare_segments),
            }
        }
    };
    match now.sent_ago_ms.cmp(&now.received_ago_ms) {
        std::cmp::Ordering::Less => Last::Sent,
        std::cmp::Ordering::Greater => Last::Received,
        // Data have acknowledged what was sent last, so they came later.
        std::cmp::Ordering::Equal if bare_before == Some(now.bare_segments) => Last::Received,
        std::cmp::Ordering::Equal if is_acknowledged_later(now) => Last::Sent,
        std::cmp::Ordering::Equal => Last::Unknown,
    }
}

/// Returns whether the other side has acknowledged something after the last data that came from it.
fn is_acknowledged_later(traffic: &Traffic) -> bool {
    let later_ms = traffic.received_ago_ms.saturating_sub(traffic.acknowledged_ago_ms);
    ACKNOWLEDGED_LATER_MS.contains(&later_ms)
}

/// Returns which data were last as the other end of the connection shows it. `before`: its traffic at an earlier look.
pub fn last_by_other_end(there: &End, before: Option<&Traffic>) -> Last {
    if there.unread_bytes > 0 {
        return Last::Sent;
    }
    // Whatever is sent acknowledges what came before.
    if there.unacknowledged_bytes > 0 || there.traffic.as_ref().is_some_and(is_acknowledged_later) {
        return Last::Received;
    }
    // Its last data are acknowledged, and not by a segment without data. So data have followed them.
    let is_answered = |now: &Traffic, before: &Traffic| {
        now.sent_bytes > before.sent_bytes
            && now.received_bytes >= before.received_bytes
            && now.bare_segments == before.bare_segments
    };
    match (&there.traffic, before) {
        (Some(now), Some(before)) if is_answered(now, before) => Last::Sent,
        _ => Last::Unknown,
    }
}

/// Returns which data were last on a connection whose last data in both directions have the same time and are acknowledged,
/// by whether each end is interactive.
///
/// The end that has sent last has done so at once after data had come, which makes it interactive. And had the other end
/// been interactive already, it would not have acknowledged these data at once, without data of its own.
pub fn last_by_replies(is_interactive_here: bool, is_interactive_there: bool) -> Last {
    match (is_interactive_here, is_interactive_there) {
        (true, false) => Last::Sent,
        (false, true) => Last::Received,
        _ => Last::Unknown,
    }
}

/// Returns the state of a connection, where `last` is which data were last on it.
pub fn state(end: &End, last: Last) -> State {
    if end.is_opening {
        return State::Waiting;
    }
    if !end.may_hear || end.unread_bytes > 0 {
        return State::Idle;
    }
    match last {
        Last::Sent => State::Waiting,
        Last::Received => State::Idle,
        Last::Unknown => State::Unknown,
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
