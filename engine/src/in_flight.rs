//! The requests in flight of one thread, in the order in which they began, so that the one whose patience ends
//! first is known without a look at the others. A list that is linked through an array: putting in and taking out
//! cost the same however many there are.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Links {
    before: u32,
    after: u32,
}

/// Users by their number, each at most once.
pub struct InFlight {
    links: Box<[Links]>,
    first: u32,
    last: u32,
}

impl InFlight {
    pub fn new(users: usize) -> Self {
        Self {
            links: vec![Links { before: NONE, after: NONE }; users].into_boxed_slice(),
            first: NONE,
            last: NONE,
        }
    }

    /// Who began first.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    #[inline]
    pub fn push(&mut self, user: u32) {
        self.links[user as usize] = Links { before: self.last, after: NONE };
        match self.last {
            NONE => self.first = user,
            last => self.links[last as usize].after = user,
        }
        self.last = user;
    }

    #[inline]
    pub fn remove(&mut self, user: u32) {
        let Links { before, after } = self.links[user as usize];
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
    use crate::shape;
    use rand::Rng;

    #[test]
    fn it_keeps_the_order_whoever_leaves() {
        let mut random = shape::random(1, 0);
        let mut list = InFlight::new(50);
        let mut expected: Vec<u32> = Vec::new();
        for _ in 0..10_000 {
            let user = random.random_range(0..50);
            if let Some(place) = expected.iter().position(|&other| other == user) {
                expected.remove(place);
                list.remove(user);
            } else {
                expected.push(user);
                list.push(user);
            }
            assert_eq!(list.first(), expected.first().copied());
        }
        for user in expected {
            assert_eq!(list.first(), Some(user));
            list.remove(user);
        }
        assert_eq!(list.first(), None);
    }
}
