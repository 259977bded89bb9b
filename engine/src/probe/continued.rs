//! A number that only rises, as a load in turns reads it: what it rose by between two turns is left out.

/// What is taken off each reading, so that those of a turn go on from the last one of the turn before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Continued {
    off: i64,
    last: Option<u64>,
    is_resumed: bool,
}

impl Continued {
    /// Ends a turn. The next reading counts as no rise.
    pub fn resume(&mut self) {
        self.is_resumed = true;
    }

    /// Returns what a reading comes to.
    pub fn take(&mut self, reading: u64) -> u64 {
        if std::mem::take(&mut self.is_resumed)
            && let Some(last) = self.last
        {
            self.off = reading as i64 - last as i64;
        }
        // User and kernel time may fall: the kernel estimates how they share the sum anew at each reading.
        let continued = (reading as i64 - self.off).max(0) as u64;
        self.last = Some(continued);
        continued
    }

    /// Returns what a reading comes to, if there is one.
    pub fn take_known(&mut self, reading: Option<u64>) -> Option<u64> {
        reading.map(|reading| self.take(reading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_rose_by_between_two_turns_is_left_out() {
        let mut continued = Continued::default();
        assert_eq!([100, 130].map(|reading| continued.take(reading)), [100, 130]);
        continued.resume();
        assert_eq!(continued.take_known(None), None);
        assert_eq!([180, 190].map(|reading| continued.take(reading)), [130, 140]);
        continued.resume();
        assert_eq!([200, 205].map(|reading| continued.take(reading)), [140, 145]);
    }
}
