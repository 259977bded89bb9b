//! Which connections that seem to wait for an answer of one peer are believed to. Pure: what was seen of them is passed in.
//!
//! After a message that is not answered (MySQL's closing of a prepared statement) a connection seems to wait until the next
//! one, and nothing that the kernel says tells it from one that waits. So it takes evidence: the waits that ended with an
//! answer must make up half of all time in which connections seemed to wait. And nothing is believed of a connection that
//! has seemed to wait for longer than any answer was seen to take.

use super::exchange::Next;

/// Ages are told apart by doublings of this time. The kernel's clock cannot tell shorter ones apart.
const CLOCK_MS: u32 = 11;
pub const CLASSES: usize = 16;
/// From fewer answers nothing is concluded.
const ANSWERS_LEAST: u64 = 5;
/// Waits that ended with an answer make up at least one part in so many of the time.
const ONE_IN: u64 = 2;
/// So often more must have been sent without an answer, and once in so many exchanges, before a peer counts as one that
/// does not answer. A question in parts is sent on before it is answered, now and then.
const SENT_ON_LEAST: u64 = 3;
const SENT_ON_ONE_IN: u64 = 4;
/// If nothing was sent for some time, so often it may go on without an answer, and once in so many exchanges.
const LATE_MOST: u64 = 1;
const LATE_ONE_IN: u64 = 20;

/// How many connections have seemed to wait for how long: less than 11 ms, up to twice as long, and so on.
pub type Ages = [u64; CLASSES];

/// Returns where connections that have seemed to wait for so long are counted.
pub fn class(age_ms: u32) -> usize {
    (age_ms / CLOCK_MS).checked_ilog2().map_or(0, |doublings| doublings as usize + 1).min(CLASSES - 1)
}

/// What followed looks at connections of one peer that seemed to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// By looks within milliseconds.
    watched: Account,
    /// By looks of one reading and the next.
    read: Account,
    /// For how long, at least, the longest answer was waited for.
    longest_ms: Option<u32>,
    answered: u64,
    sent_on: u64,
    /// The same two, where nothing had been sent for some time.
    answered_late: u64,
    sent_on_late: u64,
}

/// Time that seemed to be waited, and what of it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    answers: u64,
    answered_us: u64,
    longest_us: u64,
    seemed_us: Ages,
}

/// Why connections that seem to wait are not believed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// More was sent there before anything had come.
    SendsOn,
    /// Too few answers came for the time that they seemed to wait.
    TooFewAnswers,
}

impl Waits {
    /// Notes what followed a look at a connection that had seemed to wait for `age_ms`, at the next look after `gap_us`.
    pub fn note_watched(&mut self, age_ms: u32, gap_us: u64, next: Next) {
        self.note(age_ms, next);
        self.watched.seemed_us[class(age_ms)] += seemed_us(gap_us, next);
        if next == Next::Answer {
            // As many ends of waits are seen among all as moments of waits among all, so each stands for the whole of its
            // wait.
            self.watched.add_answer(u64::from(age_ms) * 1_000 + seemed_us(gap_us, next));
        }
    }

    /// Notes what followed a reading, at the next one. `wait_us`: how long the connection has seemed to wait so far, as
    /// counted here.
    pub fn note_read(&mut self, age_ms: u32, gap_us: u64, next: Next, wait_us: &mut u64) {
        self.note(age_ms, next);
        // Of what ends sooner than the next reading comes, mostly nothing is told.
        if u64::from(age_ms) * 1_000 >= gap_us {
            self.read.seemed_us[class(age_ms)] += seemed_us(gap_us, next);
            *wait_us += seemed_us(gap_us, next);
        }
        self.end_read(next, wait_us);
    }

    /// Notes how a wait that readings have counted ended, whoever has seen it.
    pub fn end_read(&mut self, next: Next, wait_us: &mut u64) {
        if next != Next::Nothing {
            let waited_us = std::mem::take(wait_us);
            if next == Next::Answer && waited_us > 0 {
                self.read.add_answer(waited_us);
            }
        }
    }

    /// Notes that more was sent than has come on a connection that had seemed to wait for some time.
    pub fn note_suspicion(&mut self) {
        self.sent_on_late += 1;
    }

    fn note(&mut self, age_ms: u32, next: Next) {
        let is_late = u64::from(age_ms >= CLOCK_MS);
        match next {
            Next::Answer => {
                self.longest_ms = self.longest_ms.max(Some(age_ms));
                self.answered += 1;
                self.answered_late += is_late;
            }
            Next::Question => {
                self.sent_on += 1;
                self.sent_on_late += is_late;
            }
            Next::Nothing | Next::Unclear => {}
        }
    }

    /// Returns up to which class of ages those that seem to wait are believed to.
    ///
    /// # Errors
    /// Why none are.
    pub fn believed(&self) -> Result<usize, Doubt> {
        if self.sends_on() {
            return Err(Doubt::SendsOn);
        }
        let longest = class(self.longest_ms.ok_or(Doubt::TooFewAnswers)?);
        let is_waited = [&self.watched, &self.read].into_iter().any(|account| account.is_waited(longest));
        if is_waited { Ok(longest) } else { Err(Doubt::TooFewAnswers) }
    }

    fn sends_on(&self) -> bool {
        let often = self.sent_on >= SENT_ON_LEAST && self.sent_on * SENT_ON_ONE_IN > self.answered;
        let late = self.sent_on_late > LATE_MOST && self.sent_on_late * LATE_ONE_IN > self.answered_late;
        often || late
    }
}

impl Account {
    fn add_answer(&mut self, waited_us: u64) {
        self.answers += 1;
        self.answered_us += waited_us;
        self.longest_us = self.longest_us.max(waited_us);
    }

    /// Returns whether enough of the time up to this class of ages was waited. One answer that took much longer than all
    /// others must not decide it, so the longest is left out.
    fn is_waited(&self, longest: usize) -> bool {
        let seemed_us: u64 = self.seemed_us[..=longest].iter().sum();
        self.answers >= ANSWERS_LEAST && seemed_us <= ONE_IN * (self.answered_us - self.longest_us)
    }
}

/// Returns for how much of the time between two looks the connection seemed to wait, on average.
fn seemed_us(gap_us: u64, next: Next) -> u64 {
    match next {
        Next::Nothing => gap_us,
        Next::Answer | Next::Question => gap_us / 2,
        Next::Unclear => 0,
    }
}

/// Evidence that waits of up to 10 s are answered.
#[cfg(test)]
pub fn answered() -> Waits {
    let mut waits = Waits::default();
    (0..ANSWERS_LEAST).for_each(|_| waits.note_watched(10_000, 1_000, Next::Answer));
    waits
}

/// Makes those unknown that are not believed: of `waiting` connections, those of the ages beyond `believed`. Returns how
/// many.
pub fn doubt(waiting: &mut u64, unknown: &mut u64, ages: &Ages, believed: Result<usize, Doubt>) -> u64 {
    let doubted = match believed {
        Ok(longest) => ages[longest + 1..].iter().sum::<u64>().min(*waiting),
        Err(_) => *waiting,
    };
    *waiting -= doubted;
    *unknown += doubted;
    doubted
}

#[cfg(test)]
#[path = "waits_tests.rs"]
mod tests;
