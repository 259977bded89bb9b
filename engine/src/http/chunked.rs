//! Chunked framing, byte by byte: the sizes and the ends of chunks, and the trailers (RFC 9112, 7.1). It says where
//! content begins and how long it is, and is not given the content.

use super::head::LONGEST_BODY_BYTES;
use super::lines::{FieldLines, LONGEST_TRAILERS_BYTES, Malformed};

const LONGEST_EXTENSION_BYTES: u16 = 4096;
/// As many hex digits as 64 bits hold.
const MOST_DIGITS: u8 = 16;

/// A position in the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunked {
    /// In the line that holds a chunk's size.
    Size { size: u64, digits: u8, line: SizeLine },
    /// After a chunk's content.
    End { carriage_return: bool },
    /// In the lines that may follow the last chunk, of which `bytes` have come. They must be fields, but are not
    /// used.
    Trailers { lines: FieldLines, bytes: u16 },
}

/// A position in the line that holds a chunk's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLine {
    Size,
    /// In the blanks after the size, of which this many have come. No digit may follow.
    Blank(u16),
    /// In what follows the size and is not used. This many bytes of it have come.
    Extension(u16),
    CarriageReturn,
}

/// What follows a byte of the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// More of the framing.
    Framing(Chunked),
    /// This many bytes of content, and then `Chunked::AFTER_CONTENT`.
    Content(u64),
    /// Nothing: the body is whole.
    Nothing,
}

impl Chunked {
    /// The position before the first chunk.
    pub const BEGIN: Self = Self::Size { size: 0, digits: 0, line: SizeLine::Size };
    /// The position after a chunk's content.
    pub const AFTER_CONTENT: Self = Self::End { carriage_return: false };
    const TRAILERS: Self = Self::Trailers { lines: FieldLines::BEGIN, bytes: 0 };

    /// Returns what follows the next byte.
    ///
    /// # Errors
    /// `Malformed` for a byte that may not stand there, and beyond a bound of the engine.
    pub fn after(self, byte: u8) -> Result<After, Malformed> {
        match self {
            Self::Size { size, digits, line } => after_size(size, digits, line, byte),
            Self::End { carriage_return: false } if byte == b'\r' => {
                Ok(After::Framing(Self::End { carriage_return: true }))
            }
            Self::End { carriage_return: true } if byte == b'\n' => Ok(After::Framing(Self::BEGIN)),
            Self::End { .. } => Err(Malformed::Chunk),
            Self::Trailers { lines, bytes } => after_trailers(lines, bytes, byte),
        }
    }
}

fn after_size(size: u64, digits: u8, line: SizeLine, byte: u8) -> Result<After, Malformed> {
    let on = |line| Ok(After::Framing(Chunked::Size { size, digits, line }));
    match (line, byte) {
        (SizeLine::CarriageReturn, b'\n') if size == 0 => Ok(After::Framing(Chunked::TRAILERS)),
        (SizeLine::CarriageReturn, b'\n') => Ok(After::Content(size)),
        (SizeLine::CarriageReturn, _) => Err(Malformed::Chunk),
        (_, b'\r') if digits > 0 => on(SizeLine::CarriageReturn),
        (_, b'\r' | b'\n') => Err(Malformed::Chunk),
        (SizeLine::Size | SizeLine::Blank(_), b';') if digits > 0 => on(SizeLine::Extension(0)),
        (SizeLine::Size, b' ' | b'\t') if digits > 0 => on(SizeLine::Blank(0)),
        (SizeLine::Blank(bytes), b' ' | b'\t') if bytes < LONGEST_EXTENSION_BYTES => {
            on(SizeLine::Blank(bytes + 1))
        }
        (SizeLine::Extension(bytes), _) if bytes < LONGEST_EXTENSION_BYTES => {
            on(SizeLine::Extension(bytes + 1))
        }
        (SizeLine::Size, _) if digits < MOST_DIGITS => {
            let digit = (byte as char).to_digit(16).ok_or(Malformed::Chunk)?;
            let size = size << 4 | u64::from(digit);
            if size > LONGEST_BODY_BYTES {
                return Err(Malformed::Chunk);
            }
            Ok(After::Framing(Chunked::Size { size, digits: digits + 1, line }))
        }
        _ => Err(Malformed::Chunk),
    }
}

fn after_trailers(lines: FieldLines, bytes: u16, byte: u8) -> Result<After, Malformed> {
    if bytes == LONGEST_TRAILERS_BYTES {
        return Err(Malformed::Chunk);
    }
    let next = lines.after(byte)?.map(|lines| Chunked::Trailers { lines, bytes: bytes + 1 });
    Ok(next.map_or(After::Nothing, After::Framing))
}
