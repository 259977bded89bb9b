//! The closed shape: a fixed number of users, each with a connection and at most one request in flight. A user's next
//! request is due when the answer has come and a pause is over. With a ramp the users do not all begin at once.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::pause::Pause;
use super::ramp::Ramp;
use crate::load::{Act, Due, Ended, IDLE_POLL_NS, Load, Users, Wake, share};
use crate::part::Part;
use crate::phase::{Course, Phase, WarmUp};
use crate::random;
use crate::timers::Timers;

/// `connections` users. Each waits for the answer, and then pauses before it sends again.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    pub connections: usize,
    pub pause: Pause,
    /// How the users begin, if they do not all begin at once.
    pub ramp: Option<Ramp>,
    /// Which users of the ramp these are.
    pub part: Part,
}

impl Closed {
    /// Returns this part of it: every `of`-th user.
    pub fn part(self, part: Part) -> Self {
        Self { connections: part.share(self.connections), part, ..self }
    }

    /// Returns how long after the beginning of the phase user `user` (from 0, over all threads and parts) sends its first
    /// request, in nanoseconds.
    fn sets_out_after_ns(&self, user: usize) -> u64 {
        self.ramp.map_or(0, |ramp| ramp.sets_out_after_ns(user))
    }
}

/// One thread's users of a closed shape.
pub struct ClosedLoad<'a> {
    shape: &'a Closed,
    course: &'a Course,
    /// The number of this thread's first user over all threads and parts, and how far apart its users are there.
    first: usize,
    apart: usize,
    users: u32,
    warm_up_users: u32,
    warm_up_pauses: bool,
    phase: Phase,
    /// Users below this number have begun in this phase or in the one before it.
    begun: u32,
    /// Users below this number begin in this phase.
    begin_below: u32,
    /// Users from the first number up to the second were there in the warm-up, and are still to leave as the ramp
    /// begins.
    leaving: (u32, u32),
    /// Users who are also to begin, and since when they are free. There was no request left for them before, or their
    /// last request was still in flight when they were to begin.
    late: Vec<(u32, u64)>,
    /// Users who asked for a request when the phase had none left.
    parked: Vec<u32>,
    timers: Timers,
    random: Xoshiro256PlusPlus,
}

impl<'a> ClosedLoad<'a> {
    /// The users of thread `thread` of `threads`.
    pub fn new(
        shape: &'a Closed,
        course: &'a Course,
        warm_up: Option<&WarmUp>,
        (thread, threads): (usize, usize),
        seed: u64,
    ) -> Self {
        let share = |users| share(users, thread, threads) as u32;
        Self {
            shape,
            course,
            first: shape.part.number(thread as u64) as usize,
            apart: shape.part.of() * threads,
            users: share(shape.connections),
            warm_up_users: share(warm_up.map_or(0, |warm_up| warm_up.connections)),
            warm_up_pauses: warm_up.is_none_or(|warm_up| warm_up.pauses),
            phase: Phase::WarmUp,
            begun: 0,
            begin_below: 0,
            leaving: (0, 0),
            late: Vec::new(),
            parked: Vec::new(),
            timers: Timers::new(0),
            random: random::seeded(seed, thread as u64 + 1),
        }
    }

    fn pauses(&self) -> bool {
        self.phase == Phase::Measured || self.warm_up_pauses
    }

    fn issue(&mut self, user: u32, due: Due, now_ns: u64) -> Option<Act> {
        if !self.course.issue(self.phase, now_ns) {
            self.parked.push(user);
            return None;
        }
        Some(Act::Send { user, phase: self.phase, due })
    }

    /// Returns when a user who has not begun is to begin, by the ramp.
    fn sets_out_ns(&self, user: u32) -> u64 {
        let after_ns = match self.phase {
            Phase::WarmUp => 0,
            Phase::Measured => self.shape.sets_out_after_ns(self.first + user as usize * self.apart),
        };
        self.course.began_at_ns(self.phase) + after_ns
    }

    /// Returns the first request of a user who is to begin now and is free since `freed_ns`. Users who are there from
    /// the beginning begin at random instants within a pause: if all sent at once, the load would begin with a peak.
    fn begin_user(&mut self, user: u32, freed_ns: u64, now_ns: u64) -> Option<Act> {
        let began_ns = self.course.began_at_ns(self.phase).max(freed_ns);
        let out_ns = self.sets_out_ns(user);
        if out_ns > began_ns {
            return self.issue(user, Due::At { due_ns: out_ns, ready_ns: out_ns }, now_ns);
        }
        if self.pauses() {
            let due_ns = began_ns + self.shape.pause.draw_left_ns(&mut self.random);
            if due_ns > now_ns {
                self.timers.add(due_ns, user);
                return None;
            }
        }
        self.issue(user, Due::Now { since_ns: began_ns }, now_ns)
    }

    /// Returns the next user who leaves as the ramp begins. A user with a request in flight leaves after its answer.
    fn next_leaver(&mut self, users: &impl Users) -> Option<u32> {
        while self.leaving.0 < self.leaving.1 {
            let user = self.leaving.0;
            self.leaving.0 += 1;
            if !users.is_in_flight(user) {
                return Some(user);
            }
        }
        None
    }

    /// Returns the next user who is to begin, and since when it is free.
    fn next_beginner(&mut self, now_ns: u64, users: &impl Users) -> Option<(u32, u64)> {
        if let Some(late) = self.late.pop() {
            return Some(late);
        }
        while self.begun < self.begin_below && self.sets_out_ns(self.begun) <= now_ns {
            let user = self.begun;
            self.begun += 1;
            if !users.is_in_flight(user) {
                return Some((user, 0));
            }
        }
        None
    }
}

impl Load for ClosedLoad<'_> {
    const IS_OPEN: bool = false;

    fn begin(&mut self, phase: Phase, now_ns: u64) {
        self.phase = phase;
        self.timers.begin(now_ns);
        match phase {
            Phase::WarmUp => self.begin_below = self.warm_up_users,
            Phase::Measured => {
                self.begin_below = self.users;
                if self.shape.ramp.is_some() {
                    // Close every idle connection. Each user connects again when it begins.
                    self.leaving = (0, self.begun);
                    self.begun = 0;
                    self.timers.drain();
                    self.parked.clear();
                    self.late.clear();
                } else {
                    self.late.extend(self.parked.drain(..).map(|user| (user, 0)));
                }
            }
        }
    }

    fn next(&mut self, now_ns: u64, users: &impl Users) -> Option<Act> {
        while let Some((due_ns, user)) = self.timers.pop(now_ns) {
            if !users.may_open() && !users.has_socket(user) {
                self.timers.add(due_ns, user); // In a later turn.
                return None;
            }
            let act = self.issue(user, Due::At { due_ns, ready_ns: due_ns }, now_ns);
            if act.is_some() {
                return act;
            }
        }
        if let Some(user) = self.next_leaver(users) {
            return Some(Act::Leave { user });
        }
        while users.may_open()
            && let Some((user, freed_ns)) = self.next_beginner(now_ns, users)
        {
            let act = self.begin_user(user, freed_ns, now_ns);
            if act.is_some() {
                return act;
            }
        }
        None
    }

    #[inline]
    fn ended(&mut self, ended: &Ended) -> Option<Act> {
        if ended.phase != ended.present && self.shape.ramp.is_some() {
            if ended.user < self.begun {
                self.late.push((ended.user, ended.now_ns));
            }
            return Some(Act::Leave { user: ended.user });
        }
        let pause_ns = if self.pauses() { self.shape.pause.draw_ns(&mut self.random) } else { 0 };
        let wait_ns = pause_ns.max(ended.backoff_ns);
        if wait_ns > 0 {
            self.timers.add(ended.now_ns + wait_ns, ended.user);
            return None;
        }
        self.issue(ended.user, Due::Now { since_ns: ended.now_ns }, ended.now_ns)
    }

    #[inline]
    fn wake(&mut self, now_ns: u64) -> Wake {
        let mut wake = Wake { due_ns: self.timers.next_ns(), look_ns: None };
        if !self.late.is_empty() || self.leaving.0 < self.leaving.1 {
            wake.look_ns = Some(now_ns);
        } else if self.begun < self.begin_below {
            let out_ns = self.sets_out_ns(self.begun);
            wake.due_ns = Some(wake.due_ns.map_or(out_ns, |due_ns| due_ns.min(out_ns)));
        }
        if self.phase == Phase::WarmUp && self.parked.len() >= self.warm_up_users as usize {
            // Another thread's answer will end the warm-up, and no event wakes this thread then.
            wake.look_ns = Some(wake.look_ns.unwrap_or(now_ns + IDLE_POLL_NS));
        }
        wake
    }

    fn left(&self, _ended_ns: u64) -> Option<Phase> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::Stop;

    /// The users with a request in flight, by number.
    struct Busy(Vec<u32>);

    impl Users for Busy {
        fn has_socket(&self, _user: u32) -> bool {
            true
        }

        fn is_in_flight(&self, user: u32) -> bool {
            self.0.contains(&user)
        }

        fn may_open(&self) -> bool {
            true
        }
    }

    const NOBODY: Busy = Busy(Vec::new());
    const MS: u64 = 1_000_000;

    fn shape(connections: usize, pause_ns: u64) -> Closed {
        Closed { connections, pause: Pause::Fixed { ns: pause_ns }, ramp: None, part: Part::WHOLE }
    }

    fn course(warm_up: Option<Stop>, measured: Stop) -> Course {
        let course = Course::new(warm_up, measured);
        course.begin(0);
        course
    }

    fn by_time(within_ns: u64) -> Stop {
        Stop { requests: None, within_ns }
    }

    fn users_who_send(load: &mut ClosedLoad, now_ns: u64, users: &impl Users) -> Vec<u32> {
        let acts = std::iter::from_fn(|| load.next(now_ns, users));
        acts.map(|act| match act {
            Act::Send { user, .. } | Act::Leave { user } => user,
            Act::GiveUp { .. } => panic!("a closed load gives nothing up"),
        })
        .collect()
    }

    fn ended(user: u32, phase: Phase, present: Phase, now_ns: u64) -> Ended {
        Ended { user, phase, present, now_ns, freed_ns: now_ns, backoff_ns: 0, has_socket: true }
    }

    #[test]
    fn without_a_pause_who_is_answered_sends_at_once() {
        let (shape, course) = (shape(3, 0), course(None, by_time(1_000 * MS)));
        let mut load = ClosedLoad::new(&shape, &course, None, (0, 1), 1);
        load.begin(Phase::Measured, 0);
        assert_eq!(users_who_send(&mut load, 0, &NOBODY), [0, 1, 2]);
        let again = load.ended(&ended(1, Phase::Measured, Phase::Measured, 7));
        let due = Due::Now { since_ns: 7 };
        assert_eq!(again, Some(Act::Send { user: 1, phase: Phase::Measured, due }));
        assert_eq!(load.wake(8), Wake::default());
    }

    #[test]
    fn a_pause_is_known_ahead() {
        let (shape, course) = (shape(1, 5 * MS), course(None, by_time(1_000 * MS)));
        let mut load = ClosedLoad::new(&shape, &course, None, (0, 1), 1);
        load.begin(Phase::Measured, 0);
        let first_ns = load.next(0, &NOBODY).map_or(load.timers.next_ns(), |_| None);
        assert!(first_ns.is_some_and(|ns| ns < 5 * MS), "it is met within a pause: {first_ns:?}");
        assert_eq!(users_who_send(&mut load, 5 * MS, &NOBODY), [0]);
        assert_eq!(load.ended(&ended(0, Phase::Measured, Phase::Measured, 6 * MS)), None);
        assert_eq!(load.next(10 * MS, &NOBODY), None);
        let due = Due::At { due_ns: 11 * MS, ready_ns: 11 * MS };
        assert_eq!(load.next(11 * MS + 3, &NOBODY), Some(Act::Send { user: 0, phase: Phase::Measured, due }));
    }

    #[test]
    fn a_backoff_is_as_good_as_a_pause() {
        let (shape, course) = (shape(1, 0), course(None, by_time(1_000 * MS)));
        let mut load = ClosedLoad::new(&shape, &course, None, (0, 1), 1);
        load.begin(Phase::Measured, 0);
        users_who_send(&mut load, 0, &NOBODY);
        let failed = Ended { backoff_ns: 10 * MS, ..ended(0, Phase::Measured, Phase::Measured, MS) };
        assert_eq!(load.ended(&failed), None);
        assert!(users_who_send(&mut load, 10 * MS, &NOBODY).is_empty());
        assert_eq!(users_who_send(&mut load, 11 * MS, &NOBODY), [0]);
    }

    #[test]
    fn who_warms_up_goes_on_and_the_others_join() {
        let shape = shape(5, 0);
        let warm_up = WarmUp { connections: 2, pauses: true, stop: by_time(100 * MS) };
        let course = course(Some(warm_up.stop), by_time(1_000 * MS));
        let mut load = ClosedLoad::new(&shape, &course, Some(&warm_up), (0, 1), 1);
        load.begin(Phase::WarmUp, 0);
        assert_eq!(users_who_send(&mut load, 0, &NOBODY), [0, 1]);
        load.begin(Phase::Measured, 100 * MS);
        assert_eq!(users_who_send(&mut load, 100 * MS, &Busy(vec![0, 1])), [2, 3, 4]);
    }

    #[test]
    fn who_found_no_request_left_in_the_warm_up_begins_with_the_measured_phase() {
        let shape = shape(3, 0);
        let stop = Stop { requests: Some(2), within_ns: 1_000 * MS };
        let warm_up = WarmUp { connections: 3, pauses: true, stop };
        let course = course(Some(stop), by_time(1_000 * MS));
        let mut load = ClosedLoad::new(&shape, &course, Some(&warm_up), (0, 1), 1);
        load.begin(Phase::WarmUp, 0);
        assert_eq!(users_who_send(&mut load, 0, &NOBODY), [0, 1], "there are two requests");
        course.end_one(Phase::WarmUp, MS);
        course.end_one(Phase::WarmUp, MS);
        load.begin(Phase::Measured, MS);
        assert_eq!(users_who_send(&mut load, MS, &Busy(vec![0, 1])), [2]);
    }

    #[test]
    fn users_of_a_ramp_leave_and_set_out_one_by_one() {
        let ramp = Ramp { from: 1, to: 4, over_ns: 300 * MS };
        let shape = Closed { ramp: Some(ramp), ..shape(4, 0) };
        let warm_up = WarmUp { connections: 2, pauses: true, stop: by_time(50 * MS) };
        let course = course(Some(warm_up.stop), by_time(1_000 * MS));
        let mut load = ClosedLoad::new(&shape, &course, Some(&warm_up), (0, 1), 1);
        load.begin(Phase::WarmUp, 0);
        assert_eq!(users_who_send(&mut load, 0, &NOBODY), [0, 1]);
        load.begin(Phase::Measured, 50 * MS);
        // User 1 still has a request in flight when the ramp begins. User 0 leaves, and begins again at once.
        let busy = Busy(vec![1]);
        assert_eq!(load.next(50 * MS, &busy), Some(Act::Leave { user: 0 }));
        assert_eq!(users_who_send(&mut load, 50 * MS, &busy), [0]);
        assert_eq!(load.wake(50 * MS).due_ns, Some(150 * MS));
        // User 1 leaves when its answer has come, and is free from then on. It was to begin at 150 ms.
        let left = load.ended(&ended(1, Phase::WarmUp, Phase::Measured, 160 * MS));
        assert_eq!(left, Some(Act::Leave { user: 1 }));
        assert_eq!(users_who_send(&mut load, 160 * MS, &NOBODY), [1]);
        assert_eq!(users_who_send(&mut load, 250 * MS, &Busy(vec![0, 1])), [2]);
        assert_eq!(users_who_send(&mut load, 400 * MS, &Busy(vec![0, 1, 2])), [3]);
    }
}
