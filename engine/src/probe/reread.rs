//! Reads a file of `/proc` again and again. It parses nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Returns what the open file says now, as far as it fits into `buffer`.
///
/// # Errors
/// If what the file describes is gone, or if it is not text.
pub fn reread<'a>(file: &File, buffer: &'a mut [u8]) -> io::Result<&'a str> {
    let bytes = file.read_at(buffer, 0)?;
    std::str::from_utf8(&buffer[..bytes]).map_err(io::Error::other)
}
