//! CPU time by the names of threads. Pure: names and times are passed in.
//!
//! Threads that do the same have names that differ in their number only (`GC Thread#0`, `GC Thread#1`): they are one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::record::NamedThreads;

/// How many names are told apart in the record.
const TOLD_APART: usize = 10;
/// How many names are told apart meanwhile. A server may give each thread another name; names beyond are not added up.
const KEPT: usize = 1024;

#[derive(Clone, Default)]
pub struct ThreadNames {
    used: BTreeMap<String, (u64, u64)>,
}

impl ThreadNames {
    /// Takes a thread that used so much CPU time.
    pub fn take(&mut self, name: &str, cpu_ns: u64) {
        let name = without_number(name);
        if self.used.len() >= KEPT && !self.used.contains_key(name) {
            return;
        }
        let (threads, sum_ns) = self.used.entry(name.into()).or_default();
        *threads += 1;
        *sum_ns += cpu_ns;
    }

    /// Returns the names whose threads used most CPU time, most first.
    pub fn rows(self) -> Vec<NamedThreads> {
        let mut rows: Vec<NamedThreads> = self
            .used
            .into_iter()
            .map(|(name, (threads, cpu_ns))| NamedThreads { name, threads, cpu_ns })
            .collect();
        rows.sort_by_key(|row| Reverse(row.cpu_ns));
        rows.truncate(TOLD_APART);
        rows
    }
}

/// Returns the name without the digits at its end, and without the `#` before them. A name of digits alone stays.
fn without_number(name: &str) -> &str {
    let bare = name.trim_end_matches(|of: char| of.is_ascii_digit());
    let bare = bare.strip_suffix('#').unwrap_or(bare);
    if bare.is_empty() { name } else { bare }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_whose_names_differ_in_their_number_are_one() {
        let mut names = ThreadNames::default();
        let all =
            [("GC Thread#0", 5), ("GC Thread#12", 6), ("G1 Conc#0", 9), ("main", 1), ("ZWorkerYoung1", 2)];
        all.iter().for_each(|(name, ns)| names.take(name, *ns));
        let rows: Vec<_> = names.rows().into_iter().map(|row| (row.name, row.threads, row.cpu_ns)).collect();
        let told = [("GC Thread", 2, 11), ("G1 Conc", 1, 9), ("ZWorkerYoung", 1, 2), ("main", 1, 1)];
        assert_eq!(rows, told.map(|(name, threads, ns)| (name.to_owned(), threads, ns)));
    }

    #[test]
    fn a_name_of_digits_stays_and_no_name_is_one_too() {
        for (name, bare) in
            [("123", "123"), ("", ""), ("#7", "#7"), ("a#b", "a#b"), ("a##1", "a#"), ("p2p", "p2p")]
        {
            assert_eq!(without_number(name), bare);
        }
    }

    #[test]
    fn of_many_names_the_greatest_are_told() {
        let mut names = ThreadNames::default();
        (0..5_000).for_each(|number| names.take(&format!("n{number}x"), number));
        assert_eq!(names.used.len(), KEPT);
        let rows = names.rows();
        assert_eq!((rows.len(), rows[0].cpu_ns), (TOLD_APART, KEPT as u64 - 1));
    }
}
