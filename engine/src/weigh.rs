//! `crumple-engine weigh`: where a server breaks, by the levels that a search has tried.
//!
//! This computes and measures nothing. It is part of the engine because Python alone takes a hundred times as long, and
//! a library for it more room than all of crumple.

mod blur;
mod cells;
mod kept;
mod posterior;
mod queue_law;
mod share_law;
pub mod spec;
mod walk;

use std::io::{self, BufRead};

use crate::failure::Failure;
use crate::output;
use posterior::{Memory, Posterior};
use spec::{Weighed, Weighing};

/// The largest factor between the loads of a search, which bounds the grid.
const FACTOR_MAX: f64 = 1e12;

/// Reads a `Weighing` from each line of standard input and answers it with a `Weighed`, until the input ends.
///
/// # Errors
/// If a line is no `Weighing`, or an answer cannot be written.
pub fn run() -> Result<(), Failure> {
    let mut memory = Memory::new();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure::new(format!("cannot read standard input: {error}")))?;
        let asked: Weighing = serde_json::from_str(&line)
            .map_err(|error| Failure::usage(format!("not a Weighing: {error}")))?;
        check(&asked).map_err(Failure::usage)?;
        let answer =
            serde_json::to_string(&weighed(&asked, &mut memory)).expect("an answer has numbers only");
        output::print(&answer)?;
    }
    Ok(())
}

fn check(asked: &Weighing) -> Result<(), String> {
    let (lowest, highest) = (asked.lowest, asked.highest);
    if !(lowest > 0.0 && lowest <= highest && highest / lowest <= FACTOR_MAX) {
        return Err(format!("the loads {lowest} to {highest} are no range of a search"));
    }
    if asked.levels.is_empty() {
        return Err("there is no level to weigh".into());
    }
    match asked
        .levels
        .iter()
        .find(|level| !(lowest..=highest).contains(&level.load) || level.against > level.known)
    {
        Some(level) => Err(format!("this is no level of the search: {level:?}")),
        None => Ok(()),
    }
}

fn weighed(asked: &Weighing, memory: &mut Memory) -> Weighed {
    let mut posterior = Posterior::new(asked, memory);
    let loads = asked.quantiles.iter().map(|each| match each.start {
        None => posterior.of_server(&each.shares),
        Some(start) => posterior.of_start(start, &each.shares, each.telling),
    });
    Weighed { loads: loads.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTIONS: &str = include_str!("../../contract/golden/weighings.jsonl");

    #[test]
    fn what_is_no_search_is_refused() {
        let asked: Weighing = serde_json::from_str(QUESTIONS.lines().next().unwrap()).unwrap();
        assert_eq!(check(&asked), Ok(()));
        for (lowest, highest) in [(0.0, 1.0), (2.0, 1.0), (1e-9, 1e9)] {
            assert!(check(&Weighing { lowest, highest, ..asked.clone() }).is_err(), "{lowest} {highest}");
        }
        assert!(check(&Weighing { levels: Vec::new(), ..asked.clone() }).is_err());
        let mut impossible = asked;
        impossible.levels[0].against = impossible.levels[0].known + 1;
        assert!(check(&impossible).unwrap_err().starts_with("this is no level"));
    }
}
