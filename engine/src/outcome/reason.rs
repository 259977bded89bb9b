//! Why requests failed: what refines an outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::malformed::Malformed;

/// Why a request failed. Together with the outcome it says what happened: `closed-early` and `in-body`, for instance. The
/// first reasons say where the request was when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The connection was being established, or waited for room in the server's backlog.
    Connecting,
    /// The tunnel through the proxy was being opened.
    Tunnel,
    /// TLS was being agreed on.
    Handshake,
    /// No byte of the answer had come over a connection that had carried an answer before.
    Kept,
    /// The request was not sent in full, and no byte of its answer had come.
    Sending,
    /// The request was sent, and no byte of its answer had come.
    BeforeAnswer,
    /// The head of the answer was not whole.
    InHead,
    /// The body of the answer was not whole.
    InBody,
    /// The answer gave no length, so that it ends with the connection, which stayed open.
    UntilClose,
    /// The answer gave no length, and TLS ended without close_notify: the end may be forged.
    NoCloseNotify,
    /// A whole answer came, after the timeout.
    Late,
    /// The server's machine refused the connection: no program listens there.
    Refused,
    /// The Unix socket does not exist.
    NoSocket,
    /// The network said that it cannot reach the server.
    Unreachable,
    /// The kernel could not connect, for another reason.
    ConnectError,
    /// What came does not begin as an answer of HTTP/1.x does.
    NotHttp,
    /// A document came without a head, as in HTTP/0.9.
    Http09,
    /// A frame of HTTP/2 came.
    Http2,
    /// A record of TLS came over a plain connection.
    TlsRecord,
    /// The answer is of another version of HTTP than 1.0 and 1.1.
    Version,
    /// The status is not a number from 100 to 999, or its line breaks HTTP's rules.
    Status,
    /// A line of the trailers breaks HTTP's rules, or one of the head in another way than the next four.
    FieldLine,
    /// The name of a field has a character that no name may have, a space for instance, or is empty.
    FieldName,
    /// A blank is between the name of a field and its colon.
    SpaceBeforeColon,
    /// A line of the head has no colon.
    NoColon,
    /// The value of a field has a control character.
    FieldValue,
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
    /// A body came with an answer that has none: with status 204 or 304, or to a HEAD.
    NoBodyAllowed,
    /// Bytes came before the request was sent.
    Unasked,
    /// What came over a connection that was to carry TLS is not TLS.
    NotTls,
    /// The server's certificate has expired.
    CertificateExpired,
    /// The server's certificate is not valid yet.
    CertificateNotYetValid,
    /// No trusted authority has issued the server's certificate.
    CertificateUntrusted,
    /// The server's certificate is that of an authority, which no server may show as its own.
    CertificateOfAuthority,
    /// The server's certificate is for another name.
    CertificateName,
    /// The server's certificate is not valid for another reason.
    CertificateInvalid,
    /// The server wants a certificate of the client, and was shown none.
    ClientCertificateWanted,
    /// The server refused the certificate of the client, or misses it.
    ClientCertificateRefused,
    /// Client and server have no version of TLS in common.
    NoSharedVersion,
    /// Client and server have no cipher in common.
    NoSharedCipher,
    /// The server ended the handshake with the alert `handshake_failure`, which names no reason.
    HandshakeFailure,
    /// The server speaks no HTTP/1.1 over TLS (ALPN).
    NoSharedProtocol,
    /// The server has no certificate for the name that it was asked for (SNI).
    UnknownServerName,
    /// TLS failed for another reason, which `tls_fault` has.
    Tls,
    /// The proxy wants a login (407).
    ProxyLogin,
    /// The proxy opened no tunnel, and answered with another status.
    ProxyRefused,
    /// The proxy did not answer CONNECT as HTTP/1.1 does.
    ProxyMalformed,
}

impl From<Malformed> for Reason {
    fn from(why: Malformed) -> Self {
        match why {
            Malformed::NotHttp => Self::NotHttp,
            Malformed::Version => Self::Version,
            Malformed::Status => Self::Status,
            Malformed::FieldLine => Self::FieldLine,
            Malformed::LongHead => Self::LongHead,
            Malformed::ManyFields => Self::ManyFields,
            Malformed::Length => Self::Length,
            Malformed::ConflictingLengths => Self::ConflictingLengths,
            Malformed::TransferEncoding => Self::TransferEncoding,
            Malformed::SwitchedProtocols => Self::SwitchedProtocols,
            Malformed::Chunk => Self::Chunk,
            Malformed::Excess => Self::Excess,
        }
    }
}

/// Why TLS failed, or the tunnel that it goes through: the reason, and in words what only this fault has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub reason: Reason,
    pub words: String,
}
