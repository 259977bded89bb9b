//! The requests in flight of one thread, in the order of their due times, so that the one that times out first is
//! known without looking at the others. They form a linked list in an array. Removing a request costs the same
//! however many there are, and so does adding one that was due after the others.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Links {
    before: u32,
    after: u32,
    since_ns: u64,
}

/// Users by number. Each is in the list at most once.
pub struct InFlight {
    links: Box<[Links]>,
    first: u32,
    last: u32,
}

impl InFlight {
    pub const BYTES_PER_USER: usize = size_of::<Links>();

    pub fn new(users: usize) -> Self {
        Self {
            links: vec![Links { before: NONE, after: NONE, since_ns: 0 }; users].into_boxed_slice(),
            first: NONE,
            last: NONE,
        }
    }

    /// Returns the user whose request was due first, and when it was due.
    #[inline]
    pub fn first(&self) -> Option<(u32, u64)> {
        (self.first != NONE).then(|| (self.first, self.links[self.first as usize].since_ns))
    }

    /// Adds the request of `user` that was due at `since_ns`. If it is sent late, it goes before the requests that
    /// were due after it.
    #[inline]
    pub fn push(&mut self, user: u32, since_ns: u64) {
        let (mut before, mut after) = (self.last, NONE);
        while before != NONE && self.links[before as usize].since_ns > since_ns {
            after = before;
            before = self.links[before as usize].before;
        }
        self.links[user as usize] = Links { before, after, since_ns };
        self.join(before, user);
        self.join(user, after);
    }

    /// Returns how many requests were due between these times, both included.
    pub fn count(&self, from_ns: u64, to_ns: u64) -> u64 {
        let mut count = 0;
        let mut user = self.first;
        while user != NONE && self.links[user as usize].since_ns <= to_ns {
            count += u64::from(self.links[user as usize].since_ns >= from_ns);
            user = self.links[user as usize].after;
        }
        count
    }

    #[inline]
    pub fn remove(&mut self, user: u32) {
        let Links { before, after, .. } = self.links[user as usize];
        self.join(before, after);
    }

    /// Puts `after` right behind `before`. `NONE` stands for the beginning or the end of the list.
    #[inline]
    fn join(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.links[after as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use rand::RngExt;

    #[test]
    fn it_keeps_the_order_whoever_leaves_and_however_late_they_are_sent() {
        let mut random = random::seeded(1, 0);
        let mut list = InFlight::new(50);
        let mut expected: Vec<(u64, u32)> = Vec::new();
        for now_ns in 100..10_100 {
            let user = random.random_range(0..50);
            if let Some(place) = expected.iter().position(|&(_, other)| other == user) {
                expected.remove(place);
                list.remove(user);
            } else {
                let since_ns = now_ns - random.random_range(0..4) * random.random_range(0..30);
                let place = expected.partition_point(|&(other_ns, _)| other_ns <= since_ns);
                expected.insert(place, (since_ns, user));
                list.push(user, since_ns);
            }
            assert_eq!(list.first(), expected.first().map(|&(since_ns, user)| (user, since_ns)));
            let (from_ns, to_ns) = (now_ns - 80, now_ns - 20);
            let between = expected.iter().filter(|&&(since_ns, _)| from_ns <= since_ns && since_ns <= to_ns);
            assert_eq!(list.count(from_ns, to_ns), between.count() as u64);
        }
        for (since_ns, user) in expected {
            assert_eq!(list.first(), Some((user, since_ns)));
            list.remove(user);
        }
        assert_eq!(list.first(), None);
    }
}
