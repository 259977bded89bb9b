//! Reads bytes with each parser of what the kernel or other programs write. Tests and a fuzz target call it: whatever the
//! bytes, no parser panics, each ends, and none names what was not asked for. An executable and a list of functions that a
//! program writes of itself may be made to do harm.

use std::io::Write;

use crate::probe::foreign as probe;
use crate::profile::foreign as profile;

/// The parsers, each with a number by which a fuzz target chooses one.
pub const PARSERS: [fn(&[u8]); 7] = [
    executable,
    |bytes| profile::functions(&String::from_utf8_lossy(bytes), &ADDRESSES, u64::MAX),
    profile::mappings,
    profile::samples,
    probe::messages,
    probe::sockets,
    probe::processes,
];

/// Some that an executable, its segments and its functions may hold, and the ends of what there is.
pub const ADDRESSES: [u64; 6] = [0, 0x100, 0x180, 0x40_0100, 0x40_0fff, u64::MAX];

fn executable(bytes: &[u8]) {
    let mut file = tempfile::tempfile().expect("a file without a name can be made");
    file.write_all(bytes).expect("it can be written");
    profile::executable(file, &ADDRESSES, u64::MAX);
}
