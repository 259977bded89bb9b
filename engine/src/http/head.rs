//! The head of an answer: what its status line and headers say about the body that follows (RFC 9112, 6.3).

use std::mem::MaybeUninit;

use super::lines::{self, MOST_FIELDS};
pub use super::lines::{LONGEST_HEAD_BYTES, Malformed};

/// The longest body, and the longest chunk, for which the engine waits: as much as a file's offset can count
/// (`off_t`). A body that is said to be longer would never end.
pub const LONGEST_BODY_BYTES: u64 = i64::MAX as u64;
/// From this length on, not copying a body saves more than one more read costs.
const LONG_BODY_BYTES: u64 = 32 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Sized(u64),
    Chunked,
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The length of the head itself, with its empty line.
    pub bytes: usize,
    pub status: u16,
    pub framing: Framing,
    /// Whether the server keeps the connection open.
    pub keep_alive: bool,
}

impl Head {
    /// Reads a head. Returns `None` if its end has not come yet.
    ///
    /// # Errors
    /// Why it is not an HTTP/1.x head with one meaning.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut headers = [MaybeUninit::uninit(); MOST_FIELDS];
        let mut response = httparse::Response::new(&mut []);
        // A fold stays in the value. The values that are read are lists and numbers, around which a fold counts as
        // blank.
        let parsed = httparse::ParserConfig::default()
            .allow_obsolete_multiline_headers_in_responses(true)
            .parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) if length <= LONGEST_HEAD_BYTES => length,
            Ok(httparse::Status::Partial) if bytes.len() <= LONGEST_HEAD_BYTES => return Ok(None),
            _ => return Err(lines::fault(bytes).unwrap_or(Malformed::FieldLine)),
        };
        let status = response.code.filter(|&code| code >= 100).ok_or(Malformed::Status)?;
        let mut head = Self { bytes: length, status, framing: Framing::UntilClose, keep_alive: false };
        let mut said = Said::default();
        for header in response.headers {
            said.hear(header.name, header.value)?;
        }
        let is_http_1_1 = response.version == Some(1);
        if said.transfer_encoding && !is_http_1_1 {
            return Err(Malformed::TransferEncoding); // The framing is faulty (RFC 9112, 6.1).
        }
        head.framing = said.framing();
        head.keep_alive = !said.close && (said.keep_alive || is_http_1_1);
        Ok(Some(head))
    }
}

/// What the headers so far say about the body and the connection.
#[derive(Default)]
struct Said {
    length: Option<u64>,
    transfer_encoding: bool,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl Said {
    fn hear(&mut self, name: &str, value: &[u8]) -> Result<(), Malformed> {
        if name.eq_ignore_ascii_case("content-length") {
            // The same length, given several times, is one length (RFC 9112, 6.3).
            for length in tokens(value) {
                let length = decimal(length)?;
                if self.length.is_some_and(|earlier| earlier != length) {
                    return Err(Malformed::ConflictingLengths);
                }
                self.length = Some(length);
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            // `identity` changes nothing (RFC 2616, 3.6). It is in no later standard, and curl passes over it as well.
            for coding in tokens(value).filter(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
                self.transfer_encoding = true;
                self.chunked = coding.eq_ignore_ascii_case(b"chunked");
            }
        } else if name.eq_ignore_ascii_case("connection") {
            for token in tokens(value) {
                self.close |= token.eq_ignore_ascii_case(b"close");
                self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    fn framing(&self) -> Framing {
        match (self.transfer_encoding, self.chunked, self.length) {
            (true, true, _) => Framing::Chunked,
            (true, false, _) | (false, _, None) => Framing::UntilClose,
            (false, _, Some(length)) => Framing::Sized(length),
        }
    }
}

fn tokens(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

fn decimal(digits: &[u8]) -> Result<u64, Malformed> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::Length);
    }
    let number = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
    number.filter(|&number| number <= LONGEST_BODY_BYTES).ok_or(Malformed::Length)
}

/// The last head and its meaning. Servers repeat their head to the byte until the second in their `Date` changes, and
/// comparing 150 bytes is an order of magnitude cheaper than parsing them.
pub struct HeadMemo {
    bytes: Vec<u8>,
    head: Option<Head>,
    /// Which answers are kept.
    pub keep: Keep,
}

/// Which answers are kept as examples: the first of every status that is not expected, or the first of every status.
#[derive(Default)]
pub struct Keep {
    /// Whether expected ones are kept, too.
    pub all: bool,
    /// Statuses that already have an example.
    pub had: Vec<u16>,
    /// The number of further answers that are kept whatever their status, as one of them may have a wrong body again.
    pub more: u32,
    /// Whether there are as many examples as are shown.
    pub enough: bool,
}

impl Keep {
    #[inline]
    pub fn wants(&mut self, status: u16, is_expected: bool) -> bool {
        if is_expected && !self.all && self.more == 0 || self.enough {
            return false;
        }
        let is_looked_at = self.more > 0;
        self.more = self.more.saturating_sub(1);
        is_looked_at || !self.had.contains(&status)
    }
}

impl HeadMemo {
    /// The bytes of a head for which there is room from the start, so that most heads take no memory in the hot loop.
    pub const ROOM_BYTES: usize = 256;

    /// Returns the head that was parsed last.
    pub fn last(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether the last answers were so long that their head is best read apart from their body.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.head
            .is_some_and(|head| matches!(head.framing, Framing::Sized(bytes) if bytes >= LONG_BODY_BYTES))
    }

    /// Parses like `Head::parse`, but from memory if these bytes begin with the last head.
    #[inline]
    pub fn parse(&mut self, bytes: &[u8]) -> Result<Option<Head>, Malformed> {
        if let Some(head) = self.head
            && bytes.starts_with(&self.bytes)
        {
            return Ok(Some(head));
        }
        self.parse_anew(bytes)
    }

    #[cold]
    fn parse_anew(&mut self, bytes: &[u8]) -> Result<Option<Head>, Malformed> {
        let head = Head::parse(bytes)?;
        if let Some(head) = head {
            self.bytes.clear();
            self.bytes.extend_from_slice(&bytes[..head.bytes]);
            self.head = Some(head);
        }
        Ok(head)
    }
}

impl Default for HeadMemo {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(Self::ROOM_BYTES), head: None, keep: Keep::default() }
    }
}
