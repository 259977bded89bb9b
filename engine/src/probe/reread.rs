//! Reads a file of `/proc` again and again. It parses nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The most that a file is taken to hold: thousands of cores, each with thousands of interrupts.
const MOST_BYTES: usize = 16 << 20;

/// Returns what the open file says now, as far as it fits into `buffer`.
///
/// # Errors
/// If what the file describes is gone, or if it is not text.
pub fn reread<'a>(file: &File, buffer: &'a mut [u8]) -> io::Result<&'a str> {
    let bytes = file.read_at(buffer, 0)?;
    std::str::from_utf8(&buffer[..bytes]).map_err(io::Error::other)
}

/// Returns all that the open file says now. `buffer` grows as it needs to: only what is read at once is of one instant.
///
/// # Errors
/// If what the file describes is gone, or if it is not text.
pub fn reread_whole<'a>(file: &File, buffer: &'a mut Vec<u8>) -> io::Result<&'a str> {
    let mut bytes = file.read_at(buffer, 0)?;
    while bytes == buffer.len() && bytes < MOST_BYTES {
        buffer.resize(2 * buffer.len().max(1), 0);
        bytes = file.read_at(buffer, 0)?;
    }
    std::str::from_utf8(&buffer[..bytes]).map_err(io::Error::other)
}
