//! How far apart the rows of a long trial are, so that a day's record is not twenty times as long as an hour's. Pure.
//!
//! The first `fine` rows are as close as they can be. From then on they are twice as far apart, from twice as many on four
//! times, and so on: each doubling of the time adds half as many rows as the first part has.

/// Of rows ten times a second this is the first hour.
pub const FINE: u64 = 32_768;

/// Returns how many times as far apart rows are as they were at first, where `number` of these would have gone by. It
/// is a power of two; `fine` is one, too.
pub fn apart(number: u64, fine: u64) -> u64 {
    if number < fine { 1 } else { 2 << (number / fine).ilog2() }
}

/// Returns the first number of the row that holds `number`. The row holds as many as `apart` says.
pub fn first(number: u64, fine: u64) -> u64 {
    number & !(apart(number, fine) - 1)
}

/// Leaves out readings at single instants, so that all are as far apart as the last. `number`: how many of the first
/// distance had gone by before each. Then none of them stands for a longer time than others.
pub fn evenly<T>(rows: Vec<T>, fine: u64, number: impl Fn(&T) -> u64) -> Vec<T> {
    let last = rows.last().map_or(1, |row| apart(number(row), fine));
    let (mut level, mut at) = (1, 0);
    let kept = rows.into_iter().filter(|row| {
        let now = apart(number(row), fine);
        (level, at) = if now == level { (level, at + 1) } else { (now, 1) };
        (at - 1) % (last / level).max(1) == 0
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_close_as_they_can_be_and_then_ever_further_apart() {
        let each = [0, 15, 16, 31, 32, 63, 64, 127, 128].map(|number| apart(number, 16));
        assert_eq!(each, [1, 1, 2, 2, 4, 4, 8, 8, 16]);
        // A day of rows ten times a second.
        let mut rows = 0;
        let mut number = 0;
        while number < 864_000 {
            assert_eq!(first(number, FINE), number);
            assert_eq!(first(number + apart(number, FINE) - 1, FINE), number);
            number += apart(number, FINE);
            rows += 1;
        }
        assert!((100_000..120_000).contains(&rows), "{rows}");
    }

    #[test]
    fn what_is_left_out_leaves_the_rest_as_far_apart_as_the_last() {
        let mut numbers = vec![0];
        while *numbers.last().unwrap() < 120 {
            let last = *numbers.last().unwrap();
            numbers.push(last + apart(last, 16));
        }
        let kept = evenly(numbers.clone(), 16, |&number| number);
        assert_eq!(kept, (0..=120).step_by(8).collect::<Vec<_>>());
        let few: Vec<u64> = numbers.into_iter().take(16).collect();
        assert_eq!(evenly(few.clone(), 16, |&number| number), few);
        assert!(evenly(Vec::<u64>::new(), 16, |&number| number).is_empty());
    }
}
