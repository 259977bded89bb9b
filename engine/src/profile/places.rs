//! Samples counted by where they were. It is bounded, as code made at run time may be anywhere.

use std::collections::BTreeMap;

use crate::process_tree::Pid;

/// The first 100,000 places are told apart; samples at others are counted without their place.
const MOST: usize = 100_000;

/// A file as the kernel names it. The path is the one that the process sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MappedFile {
    pub device: u64,
    pub inode: u64,
    pub path: String,
}

/// Where a sample was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At this offset in a file.
    File(MappedFile, u64),
    /// At this address, in code that a process made at run time.
    Made(Pid, u64),
}

#[derive(Default)]
pub struct Places {
    /// Samples by file and offset.
    files: BTreeMap<MappedFile, BTreeMap<u64, u64>>,
    /// Samples by process and address.
    made: BTreeMap<Pid, BTreeMap<u64, u64>>,
    kept: usize,
    /// Samples in no mapping that is known, or beyond the most that are told apart.
    pub elsewhere: u64,
}

impl Places {
    pub fn count(&mut self, place: Place) {
        let has_room = self.kept < MOST;
        let (of, at) = match place {
            Place::File(file, offset) => (self.files.entry(file).or_default(), offset),
            Place::Made(pid, address) => (self.made.entry(pid).or_default(), address),
        };
        match of.get_mut(&at) {
            Some(samples) => *samples += 1,
            None if has_room => {
                of.insert(at, 1);
                self.kept += 1;
            }
            None => self.elsewhere += 1,
        }
    }

    /// Returns the samples in each file, by offset.
    pub fn files(&self) -> impl Iterator<Item = (&MappedFile, &BTreeMap<u64, u64>)> {
        self.files.iter()
    }

    /// Returns the samples in code that each process made, by address.
    pub fn made(&self) -> impl Iterator<Item = (Pid, &BTreeMap<u64, u64>)> {
        self.made.iter().map(|(&pid, at)| (pid, at))
    }
}
