//! What makes an answer malformed, as far as the parser tells it. `Reason` refines it.

/// Why an answer is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// What came does not begin as an answer of HTTP/1.x does.
    NotHttp,
    /// It is of another version of HTTP than 1.0 and 1.1.
    Version,
    /// The status is not a number from 100 to 999, or its line breaks HTTP's rules.
    Status,
    /// A line of the head, or of the trailers, breaks HTTP's rules.
    FieldLine,
    /// The head is longer than 64 KiB, the engine's bound.
    LongHead,
    /// The head has, or the trailers have, more than 100 fields, the engine's bound.
    ManyFields,
    /// The Content-Length is not a number, or longer than any body can be.
    Length,
    /// Several lengths are given, and they differ.
    ConflictingLengths,
    /// An answer of HTTP/1.0 has a Transfer-Encoding.
    TransferEncoding,
    /// The server switched to another protocol (101).
    SwitchedProtocols,
    /// A chunk's size or end breaks HTTP's rules, or the trailers are longer than 16 KiB, the engine's bound.
    Chunk,
    /// More bytes came than belong to the answer.
    Excess,
}
