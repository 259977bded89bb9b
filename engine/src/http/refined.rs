//! Names a fault of an answer more exactly than the parser does, from what came. It is called once for each malformed
//! answer, and not for others.

use super::lines;
use crate::outcome::{Malformed, Reason};

/// The types of the frames with which a server of HTTP/2 begins, or ends (RFC 9113, 6.5 and 6.8).
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// Returns `reason`, or a more exact one. `came` is the beginning of what came, from the first byte of the answer on.
pub fn refined(reason: Reason, came: &[u8]) -> Reason {
    match reason {
        Reason::NotHttp => other_protocol(came).or_else(|| document(came)).unwrap_or(reason),
        Reason::Unasked => other_protocol(came).unwrap_or(reason),
        Reason::FieldLine => field_line(came).unwrap_or(reason),
        _ => reason,
    }
}

fn other_protocol(came: &[u8]) -> Option<Reason> {
    match came {
        // A record: its type, and the version 3.x (RFC 8446, 5.1).
        [20..=23, 3, 0..=4, ..] => Some(Reason::TlsRecord),
        // A frame: its length, its type, its flags, and stream 0.
        [_, _, _, SETTINGS | GOAWAY, 0 | 1, 0, 0, 0, 0, ..] => Some(Reason::Http2),
        _ => came.starts_with(b"PRI * HTTP/2").then_some(Reason::Http2),
    }
}

fn document(came: &[u8]) -> Option<Reason> {
    came.trim_ascii_start().starts_with(b"<").then_some(Reason::Http09)
}

/// Returns what is wrong with the first line of a head that breaks a rule; `None` if that is not in `came`.
fn field_line(came: &[u8]) -> Option<Reason> {
    let (at, why) = lines::fault_at(came)?;
    if why != Malformed::FieldLine {
        return None;
    }
    let begins = came[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if came[begins..at].contains(&b':') {
        return Some(Reason::FieldValue);
    }
    let rest = &came[begins..];
    let ends = rest.iter().position(|&byte| byte == b'\n');
    let line = &rest[..ends.unwrap_or(rest.len())];
    Some(match line.iter().position(|&byte| byte == b':') {
        Some(colon) if is_name(line[..colon].trim_ascii_end()) => Reason::SpaceBeforeColon,
        None if ends.is_some() => Reason::NoColon,
        _ => Reason::FieldName,
    })
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&byte| lines::is_token(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refines(reason: Reason, came: &[u8], to: Reason) {
        assert_eq!(refined(reason, came), to, "{:?}", came.escape_ascii().to_string());
    }

    #[test]
    fn what_speaks_another_protocol_is_named() {
        let alert = b"\x15\x03\x03\x00\x02\x02\x46";
        let settings = b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64";
        let goaway = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01";
        for reason in [Reason::NotHttp, Reason::Unasked] {
            refines(reason, alert, Reason::TlsRecord);
            refines(reason, settings, Reason::Http2);
            refines(reason, goaway, Reason::Http2);
            refines(reason, b"SSH-2.0-OpenSSH_9.2\r\n", reason);
            refines(reason, b"", reason);
        }
        refines(Reason::NotHttp, b"\n <html>hello</html>", Reason::Http09);
        refines(Reason::Unasked, b"<stream>", Reason::Unasked);
        refines(Reason::Excess, alert, Reason::Excess);
    }

    #[test]
    fn what_is_wrong_with_a_line_of_a_head_is_named() {
        for (line, to) in [
            ("Bad Name: 1", Reason::FieldName),
            ("X-Gr\u{f6}\u{df}e: 1", Reason::FieldName),
            (": 1", Reason::FieldName),
            ("Bad ", Reason::FieldName),
            ("Content-Length : 5\r\n\r\n", Reason::SpaceBeforeColon),
            ("Content-Length\t: 5\r\n\r\n", Reason::SpaceBeforeColon),
            ("no colon\r\nX: 1\r\n\r\n", Reason::NoColon),
            ("X: a\0b", Reason::FieldValue),
            ("X: a\rb", Reason::FieldValue),
        ] {
            refines(Reason::FieldLine, format!("HTTP/1.1 200 OK\r\nX: y\r\n{line}").as_bytes(), to);
        }
        let in_trailers = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n";
        refines(Reason::FieldLine, in_trailers, Reason::FieldLine);
    }
}
