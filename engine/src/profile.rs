//! What the server's CPU time in user space is spent on: which function of which file its threads are in, at instants of
//! their CPU time. The kernel takes the samples (perf_event_open(2)); here threads are chosen, samples are counted by
//! address, and the addresses get names when the load is over.
//!
//! - `sampling` chooses threads and counts; `perf_event` has the kernel take samples, `ring` reads them.
//! - `address_space` tells which file an address is of, `mapped_file` opens it, `places` counts samples by file and offset.
//! - `naming` gives these names: from a file's symbols (`elf`, `debug_file`) or from what a compiler at run time wrote
//!   (`perf_map`); `readable` makes of a symbol what a person may read.

mod address_space;
mod debug_file;
mod elf;
pub mod foreign;
mod mapped_file;
mod naming;
mod perf_event;
mod perf_map;
mod places;
mod readable;
mod ring;
mod sampling;

pub use sampling::{Sampling, descriptors};
