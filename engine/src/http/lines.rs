//! The lines of a head, and of the trailers after a last chunk, byte by byte: where they end, and whether HTTP allows
//! them (RFC 9112, 2.2, 4 and 5). `head.rs` reads their meaning.

pub use crate::outcome::Malformed;

/// The longest head that the engine reads. There is a bound because a head that comes in pieces is kept until it is
/// whole: a peer can make every connection keep this much, 640 MB at 10,000 connections. It is longer than what
/// servers send and proxies take by default: Tomcat sends at most 8 KiB, nginx takes at most 8 KiB from the server
/// behind it, and HAProxy 16 KiB. Of clients, Node.js's takes 16 KiB, curl 300 KiB and Go's 10 MiB.
pub const LONGEST_HEAD_BYTES: usize = 64 * 1024;
/// The longest trailers that the engine reads.
pub const LONGEST_TRAILERS_BYTES: u16 = 16 * 1024;
/// The most fields of a head, or of trailers, that the engine reads. hyper and Python's http.client have the same
/// bound.
pub const MOST_FIELDS: usize = 100;

/// Returns whether `byte` may stand in a method or in the name of a field (RFC 9110, 5.6.2).
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns whether `byte` may stand in the value of a field (RFC 9110, 5.5) or in a reason phrase (RFC 9112, 4).
pub fn is_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// A position in field lines: what the bytes so far allow the next byte to be. A line may end with a line feed alone
/// (RFC 9112, 2.2). A line that begins with a blank continues the field before it (obs-fold; "a user agent … MUST
/// replace each received obs-fold with one or more SP octets prior to interpreting the field value", RFC 9112, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLines {
    part: FieldPart,
    /// The number of fields before the present one. At `Next`, the present field is the one whose line has ended, as
    /// the next line may continue it.
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
    /// After the carriage return that ends a field's line.
    CarriageReturn,
    /// After the carriage return of the empty line that ends the lines.
    LastCarriageReturn,
}

impl FieldLines {
    pub const BEGIN: Self = Self { part: FieldPart::First, fields: 0 };

    /// Returns the position after the next byte, or `None` if that byte ends the lines.
    ///
    /// # Errors
    /// `Malformed` for a byte that may not stand there, and for the byte that shows that a field too many is whole.
    pub fn after(self, byte: u8) -> Result<Option<Self>, Malformed> {
        use FieldPart::{CarriageReturn, First, LastCarriageReturn, Name, Next, Value};
        let mut fields = self.fields;
        if self.part == Next && !is_blank(byte) {
            fields += 1;
            if usize::from(fields) > MOST_FIELDS {
                return Err(Malformed::ManyFields);
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
            _ => return Err(Malformed::FieldLine),
        };
        Ok(Some(Self { part, fields }))
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A position in a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadLines {
    /// In the empty lines that may come before the status line.
    Empty {
        carriage_return: bool,
    },
    /// In version and status, of which this many bytes have come.
    Status(u8),
    Reason,
    ReasonCarriageReturn,
    Fields(FieldLines),
}

/// Version and status. A zero stands for any digit. The minor version may also be 0.
const STATUS: &[u8] = b"HTTP/1.1 000";
const VERSION_AT: usize = 5;
const MINOR_VERSION_AT: usize = 7;

impl HeadLines {
    const BEGIN: Self = Self::Empty { carriage_return: false };

    /// Returns the position after the next byte, or `None` if that byte ends the head.
    ///
    /// # Errors
    /// `Malformed` for a byte that may not stand there, and for the byte that shows that a field too many is whole.
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
                    return Err(self.broken());
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
            _ => return Err(self.broken()),
        };
        Ok(Some(next))
    }

    /// Returns what is wrong if the next byte may not stand here.
    fn broken(self) -> Malformed {
        match self {
            Self::Status(at) if usize::from(at) < VERSION_AT => Malformed::NotHttp,
            Self::Status(at) if usize::from(at) <= MINOR_VERSION_AT => Malformed::Version,
            Self::Empty { .. } => Malformed::NotHttp,
            _ => Malformed::Status,
        }
    }
}

/// Returns what is wrong with the first byte of a head that breaks a rule of HTTP or a bound of the engine, if there is
/// one.
pub fn fault(bytes: &[u8]) -> Option<Malformed> {
    PartialHead::new().take(bytes).err()
}

/// Returns where a head breaks a rule of HTTP first, and what is wrong there; `None` if it does not in these bytes.
pub fn fault_at(bytes: &[u8]) -> Option<(usize, Malformed)> {
    let mut lines = HeadLines::BEGIN;
    for (at, &byte) in bytes.iter().enumerate() {
        match lines.after(byte) {
            Ok(next) => lines = next?,
            Err(why) => return Some((at, why)),
        }
    }
    None
}

/// A head that comes in pieces. Each byte is looked at once, so that a head costs the same however it is cut. The
/// parser is called only when the whole head has come.
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
    /// `Malformed` as soon as no head that the engine reads can begin with these bytes.
    pub fn take(&mut self, piece: &[u8]) -> Result<Option<usize>, Malformed> {
        let room = LONGEST_HEAD_BYTES - self.bytes.len();
        for (at, &byte) in piece.iter().enumerate() {
            if at == room {
                return Err(Malformed::LongHead);
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

    /// Returns the head as far as it has come.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a piece. The capacity grows by doubling, but never beyond the longest head.
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
