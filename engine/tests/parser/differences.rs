//! The intended differences between the engine's reading and hyper's: what each is about, and how to take only that
//! out of some bytes.

use std::ops::Range;

use crumple_engine::http::head::LONGEST_BODY_BYTES;

/// A switch of protocols is no answer, as no request asked for it.
pub const SWITCHING: u16 = 101;

/// Which side refuses or ignores what the other side accepts.
pub enum Stricter {
    We,
    They,
}

pub struct Difference {
    pub stricter: Stricter,
    /// Returns the bytes without what the difference is about, for an answer with or without a body. Returns `None`
    /// if they contain nothing of it.
    pub take_out: fn(&[u8], bool) -> Option<Vec<u8>>,
}

pub const DIFFERENCES: &[Difference] = &[
    // The engine checks headers that would frame a body even if nothing depends on them.
    Difference { stricter: Stricter::We, take_out: idle_framing },
    // The engine takes as many digits of a chunk's size as 64 bits have, and no more zeros before them.
    Difference { stricter: Stricter::We, take_out: zeros_of_sizes },
    // A length beyond that of any file is never reached. Hyper waits for it.
    Difference { stricter: Stricter::We, take_out: endless_lengths },
    IDENTITY,
    // Lines of trailers may end with a line feed alone, like those of headers.
    Difference { stricter: Stricter::They, take_out: line_feeds_in_trailers },
    // Trailers may be folded, like headers.
    Difference { stricter: Stricter::They, take_out: folds_in_trailers },
    WORDLESS,
];

/// The coding `identity` changes nothing. Hyper takes it for one that it does not know, and reads until the end.
pub const IDENTITY: Difference = Difference { stricter: Stricter::They, take_out: identity_codings };

/// Hyper does not read a list that contains a byte beyond ASCII. The engine reads the rest of the list.
pub const WORDLESS: Difference = Difference { stricter: Stricter::They, take_out: bytes_beyond_ascii };

fn idle_framing(bytes: &[u8], without_body: bool) -> Option<Vec<u8>> {
    let mut plain = bytes.to_vec();
    for head in heads(bytes) {
        let is_framed = !(without_body && head.is_last || matches!(head.status, 100..200 | 204 | 304));
        for field in head.fields.iter().filter(|field| match field.name.as_str() {
            "content-length" => !is_framed || head.has("transfer-encoding"),
            "transfer-encoding" => !is_framed,
            _ => false,
        }) {
            plain[field.name_at.clone()].fill(b'x');
        }
    }
    (plain != bytes).then_some(plain)
}

fn identity_codings(bytes: &[u8], _: bool) -> Option<Vec<u8>> {
    let mut plain = bytes.to_vec();
    let fields = heads(bytes).into_iter().flat_map(|head| head.fields);
    let codings: Vec<Field> = fields.filter(|field| field.name == "transfer-encoding").collect();
    for field in codings.into_iter().rev() {
        let all = bytes[field.value_at.clone()].split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let kept: Vec<&[u8]> =
            all.clone().filter(|coding| !coding.eq_ignore_ascii_case(b"identity")).collect();
        if kept.is_empty() {
            plain[field.name_at].fill(b'x');
        } else if kept.len() < all.count() {
            plain.splice(field.value_at, kept.join(&b','));
        }
    }
    (plain != bytes).then_some(plain)
}

fn zeros_of_sizes(bytes: &[u8], _: bool) -> Option<Vec<u8>> {
    const MOST_DIGITS: usize = 16;
    let mut plain = bytes.to_vec();
    for size in chunks(bytes).sizes.into_iter().rev() {
        let zeros = bytes[size.clone()].iter().take_while(|&&digit| digit == b'0').count();
        plain.drain(size.start..size.start + zeros.min(size.len().saturating_sub(MOST_DIGITS)));
    }
    (plain != bytes).then_some(plain)
}

fn endless_lengths(bytes: &[u8], _: bool) -> Option<Vec<u8>> {
    let lengths = heads(bytes).into_iter().flat_map(|head| {
        let fields = head.fields.into_iter().filter(|field| field.name == "content-length");
        fields.flat_map(|field| numbers(bytes, field.value_at)).collect::<Vec<_>>()
    });
    let lengths = lengths.map(|at| (at, 10, LONGEST_BODY_BYTES.to_string()));
    let sizes = chunks(bytes).sizes.into_iter().map(|at| (at, 16, format!("{LONGEST_BODY_BYTES:x}")));
    let mut plain = bytes.to_vec();
    for (at, radix, longest) in lengths.chain(sizes).collect::<Vec<_>>().into_iter().rev() {
        let digits = std::str::from_utf8(&bytes[at.clone()]).unwrap();
        if u64::from_str_radix(digits, radix).is_ok_and(|length| length > LONGEST_BODY_BYTES) {
            plain.splice(at, longest.bytes());
        }
    }
    (plain != bytes).then_some(plain)
}

fn line_feeds_in_trailers(bytes: &[u8], _: bool) -> Option<Vec<u8>> {
    let (before, trailers) = bytes.split_at(chunks(bytes).trailers_at?);
    let mut plain = before.to_vec();
    for &byte in trailers {
        if byte == b'\n' && plain.last() != Some(&b'\r') {
            plain.push(b'\r');
        }
        plain.push(byte);
    }
    (plain != bytes).then_some(plain)
}

fn folds_in_trailers(bytes: &[u8], _: bool) -> Option<Vec<u8>> {
    let mut plain = bytes.to_vec();
    for at in chunks(bytes).trailers_at? + 1..bytes.len().saturating_sub(2) {
        let is_behind_a_line = bytes[at - 1] != b'\n';
        if is_behind_a_line && bytes[at..].starts_with(b"\r\n") && matches!(bytes[at + 2], b' ' | b'\t') {
            plain[at..at + 2].fill(b' ');
        }
    }
    (plain != bytes).then_some(plain)
}

fn bytes_beyond_ascii(bytes: &[u8], _: bool) -> Option<Vec<u8>> {
    let mut plain = bytes.to_vec();
    for field in heads(bytes).into_iter().flat_map(|head| head.fields) {
        if matches!(field.name.as_str(), "connection" | "transfer-encoding") {
            plain[field.value_at].iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'~');
        }
    }
    (plain != bytes).then_some(plain)
}

/// Returns whether the bytes end in trailers that hyper refuses once all are there: it looks at them only then.
pub fn end_in_faulty_trailers(bytes: &[u8], without_body: bool, is_faulty: impl Fn(&[u8]) -> bool) -> bool {
    if chunks(bytes).trailers_at.is_none() {
        return false;
    }
    let mut plain = [bytes, b"\r\n\r\n"].concat();
    for take_out in [line_feeds_in_trailers, folds_in_trailers] {
        plain = take_out(&plain, without_body).unwrap_or(plain);
    }
    is_faulty(&plain)
}

struct Head {
    bytes: usize,
    status: u16,
    is_last: bool,
    fields: Vec<Field>,
}

struct Field {
    /// In lower case.
    name: String,
    name_at: Range<usize>,
    value_at: Range<usize>,
}

impl Head {
    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }
}

/// Returns the heads of interim answers and, if it has come, of the final answer.
fn heads(bytes: &[u8]) -> Vec<Head> {
    let mut heads: Vec<Head> = Vec::new();
    while heads.last().is_none_or(|head| !head.is_last) {
        let from = heads.iter().map(|head| head.bytes).sum();
        let mut fields = [httparse::EMPTY_HEADER; 100];
        let mut head = httparse::Response::new(&mut fields);
        let parsed = httparse::ParserConfig::default()
            .allow_obsolete_multiline_headers_in_responses(true)
            .parse_response(&mut head, &bytes[from..]);
        let Ok(httparse::Status::Complete(length)) = parsed else {
            break;
        };
        let status = head.code.unwrap();
        let within = |part: &[u8]| {
            let begin = part.as_ptr().addr() - bytes.as_ptr().addr();
            begin..begin + part.len()
        };
        let fields = head.headers.iter().map(|field| Field {
            name: field.name.to_ascii_lowercase(),
            name_at: within(field.name.as_bytes()),
            value_at: within(field.value),
        });
        let is_last = !matches!(status, 100..200) || status == SWITCHING;
        heads.push(Head { bytes: length, status, is_last, fields: fields.collect() });
    }
    heads
}

/// Returns the positions of the numbers in a list.
fn numbers(bytes: &[u8], list: Range<usize>) -> Vec<Range<usize>> {
    let mut numbers: Vec<Range<usize>> = Vec::new();
    for at in list.filter(|&at| bytes[at].is_ascii_digit()) {
        match numbers.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => numbers.push(at..at + 1),
        }
    }
    numbers
}

/// The positions of the sizes and of the trailers in a chunked body.
#[derive(Default)]
struct Chunks {
    sizes: Vec<Range<usize>>,
    trailers_at: Option<usize>,
}

fn chunks(bytes: &[u8]) -> Chunks {
    let mut chunks = Chunks::default();
    let heads = heads(bytes);
    if !heads.last().is_some_and(|head| head.is_last && head.has("transfer-encoding")) {
        return chunks;
    }
    let mut at: usize = heads.iter().map(|head| head.bytes).sum();
    while at < bytes.len() {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = at..at + digits;
        let length = bytes[size.end..].windows(2).position(|end| end == b"\r\n");
        let value = std::str::from_utf8(&bytes[size.clone()]).unwrap().trim_start_matches('0');
        chunks.sizes.push(size.clone());
        let (Some(length), Ok(value)) = (length, u64::from_str_radix(&format!("0{value}"), 16)) else {
            break;
        };
        at = size.end + length + 2;
        if value == 0 {
            chunks.trailers_at = (digits > 0).then_some(at);
            break;
        }
        at = at.saturating_add(usize::try_from(value).unwrap()).saturating_add(2);
    }
    chunks
}
