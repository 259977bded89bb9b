//! The lines of a head, and of the trailers after a last chunk, byte by byte: where they end, and whether HTTP allows
//! them (RFC 9112, 2.2, 4 and 5). `head.rs` reads their meaning.

/// The longest head that is read. By default Tomcat sends no head beyond 8 KiB, and nginx takes none from a server
/// behind it; HAProxy and Node.js's client take none beyond 16 KiB; Go's client takes 1 MB, and curl reads 300 KB. So
/// 64 KiB is more than most clients can read. Only a head that comes in pieces is kept, as far as it has come. A peer
/// can make every connection keep this much: 640 MB at 10,000 connections.
pub const LONGEST_HEAD_BYTES: usize = 64 * 1024;
/// The longest trailers that are read.
pub const LONGEST_TRAILERS_BYTES: u16 = 16 * 1024;
/// The most fields of a head or of trailers, as in hyper and in Python's http.client.
pub const MOST_FIELDS: usize = 100;

/// What came is not an HTTP/1.1 answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Returns whether `byte` may stand in the name of a method or a field (RFC 9110, 5.6.2).
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns whether `byte` may stand in the value of a field (RFC 9110, 5.5).
pub fn is_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// The position in field lines. A line may end with a line feed alone (RFC 9112, 2.2). A line that begins with a
/// blank continues the field before it (obs-fold; "a user agent … MUST replace each received obs-fold with one or
/// more SP octets prior to interpreting the field value", RFC 9112, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLines {
    part: FieldPart,
    /// The number of fields before this one.
    fields: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldPart {
    /// At the beginning of the first line.
    First,
    /// At the beginning of a line after a field.
    Next,
    Name,
    Value,
    CarriageReturn,
    LastCarriageReturn,
}

impl FieldLines {
    pub const BEGIN: Self = Self { part: FieldPart::First, fields: 0 };

    /// Returns the position after the next byte, or `None` if that byte ends the lines.
    ///
    /// # Errors
    /// `Malformed` for a byte that may not stand there, and for too many fields.
    pub fn after(self, byte: u8) -> Result<Option<Self>, Malformed> {
        use FieldPart::{CarriageReturn, First, LastCarriageReturn, Name, Next, Value};
        let mut fields = self.fields;
        if self.part == Next && !is_blank(byte) {
            fields += 1;
            if usize::from(fields) > MOST_FIELDS {
                return Err(Malformed);
            }
        }
        let part = match (self.part, byte) {
            (First | Next | LastCarriageReturn, b'\n') => return Ok(None),
            (First | Next, b'\r') => LastCarriageReturn,
            (First | Next | Name, _) if is_token(byte) => Name,
            (Name, b':') => Value,
            (Next, _) if is_blank(byte) => Value,
            (Value, b'\r') => CarriageReturn,
            (Value | CarriageReturn, b'\n') => Next,
            (Value, _) if is_value(byte) => Value,
            _ => return Err(Malformed),
        };
        Ok(Some(Self { part, fields }))
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The position in a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadLines {
    /// In the empty lines that may come first.
    Empty {
        carriage_return: bool,
    },
    /// In version and status, of which this many bytes have come.
    Status(u8),
    Reason,
    ReasonCarriageReturn,
    Fields(FieldLines),
}

/// Version and status. A zero stands for any digit.
const STATUS: &[u8] = b"HTTP/1.1 000";
const MINOR_VERSION_AT: usize = 7;

impl HeadLines {
    const BEGIN: Self = Self::Empty { carriage_return: false };

    /// Returns whether there are too many fields, which shows when the line after them begins.
    fn has_most_fields_before(self, byte: u8) -> bool {
        matches!(self, Self::Fields(FieldLines { part: FieldPart::Next, fields })
            if usize::from(fields) == MOST_FIELDS && !is_blank(byte))
    }

    /// Does what `FieldLines::after` does.
    fn after(self, byte: u8) -> Result<Option<Self>, Malformed> {
        let next = match (self, byte) {
            (Self::Empty { .. }, b'\n') => Self::Empty { carriage_return: false },
            (Self::Empty { carriage_return: false }, b'\r') => Self::Empty { carriage_return: true },
            (Self::Empty { carriage_return: false }, _) => return Self::Status(0).after(byte),
            (Self::Status(at), _) if usize::from(at) < STATUS.len() => {
                let expected = STATUS[usize::from(at)];
                let fits = match usize::from(at) {
                    MINOR_VERSION_AT => matches!(byte, b'0' | b'1'),
                    _ if expected == b'0' => byte.is_ascii_digit(),
                    _ => byte == expected,
                };
                if !fits {
                    return Err(Malformed);
                }
                Self::Status(at + 1)
            }
            (Self::Status(_), b' ') => Self::Reason,
            (Self::Status(_) | Self::Reason, b'\r') => Self::ReasonCarriageReturn,
            (Self::Status(_) | Self::Reason | Self::ReasonCarriageReturn, b'\n') => {
                Self::Fields(FieldLines::BEGIN)
            }
            (Self::Reason, _) if is_value(byte) => Self::Reason,
            (Self::Fields(lines), _) => return Ok(lines.after(byte)?.map(Self::Fields)),
            _ => return Err(Malformed),
        };
        Ok(Some(next))
    }
}

/// Returns why a head that begins with `bytes`, and breaks no rule so far, is not read any further: the engine's
/// bound that it exceeds.
pub fn fault(bytes: impl Iterator<Item = u8>) -> Option<&'static str> {
    let mut lines = HeadLines::BEGIN;
    for (at, byte) in bytes.enumerate() {
        if at == LONGEST_HEAD_BYTES {
            return Some("a head longer than 64 KiB");
        }
        match lines.after(byte) {
            Ok(Some(next)) => lines = next,
            Ok(None) => return None,
            Err(Malformed) => {
                return lines.has_most_fields_before(byte).then_some("a head of more than 100 fields");
            }
        }
    }
    None
}

const _: () = assert!(LONGEST_HEAD_BYTES == 64 * 1024 && MOST_FIELDS == 100, "as `fault` says");

/// A head that comes in pieces. Each byte is looked at once, so that a head costs the same however it is cut. The
/// parser is called only when the whole head is there.
#[derive(Debug)]
pub struct PartialHead {
    bytes: Vec<u8>,
    lines: HeadLines,
}

impl PartialHead {
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), lines: HeadLines::BEGIN }
    }

    /// Takes the next piece. Returns how many of its bytes belong to the head, or `None` if the head goes on after
    /// it.
    ///
    /// # Errors
    /// `Malformed` as soon as no head can begin with these bytes.
    pub fn take(&mut self, piece: &[u8]) -> Result<Option<usize>, Malformed> {
        let room = LONGEST_HEAD_BYTES - self.bytes.len();
        for (at, &byte) in piece.iter().enumerate() {
            if at == room {
                return Err(Malformed);
            }
            let Some(next) = self.lines.after(byte)? else {
                self.keep(&piece[..=at]);
                return Ok(Some(at + 1));
            };
            self.lines = next;
        }
        self.keep(piece);
        Ok(None)
    }

    /// Returns what has come of the head.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a piece. The room grows by doubling, but never beyond the longest head.
    fn keep(&mut self, piece: &[u8]) {
        let needed = self.bytes.len() + piece.len();
        if needed > self.bytes.capacity() {
            let room = needed.max(2 * self.bytes.capacity()).min(LONGEST_HEAD_BYTES);
            self.bytes.reserve_exact(room - self.bytes.len());
        }
        self.bytes.extend_from_slice(piece);
    }
}

impl Default for PartialHead {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
