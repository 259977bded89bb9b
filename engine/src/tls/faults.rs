//! Why TLS failed: the reason that fits what rustls says.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use crate::outcome::{Fault, Reason};

/// Returns a fault for which there is no reason of its own.
pub fn other(words: &str) -> Fault {
    Fault { reason: Reason::Tls, words: words.into() }
}

/// Returns the fault that rustls found, or that the server named in an alert.
pub fn of(error: &Error) -> Fault {
    let words = match error {
        Error::AlertReceived(alert) => format!("received fatal alert {}: {alert:?}", u8::from(*alert)),
        _ => error.to_string(),
    };
    Fault { reason: reason(error), words }
}

fn reason(error: &Error) -> Reason {
    match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => Reason::NotTls,
        Error::InvalidCertificate(why) => of_certificate(why),
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        ) => Reason::NoSharedVersion,
        Error::PeerIncompatible(
            PeerIncompatible::NoCipherSuitesInCommon
            | PeerIncompatible::NoKxGroupsInCommon
            | PeerIncompatible::NoSignatureSchemesInCommon,
        ) => Reason::NoSharedCipher,
        Error::NoApplicationProtocol => Reason::NoSharedProtocol,
        _ => Reason::Tls,
    }
}

fn of_certificate(why: &CertificateError) -> Reason {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Reason::CertificateExpired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Reason::CertificateNotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Reason::CertificateName
        }
        // The signature of an authority that has the name of a trusted one, and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Reason::CertificateUntrusted,
        // rustls has no variant for this error of webpki.
        CertificateError::Other(why) if format!("{why:?}").contains("CaUsedAsEndEntity") => {
            Reason::CertificateOfAuthority
        }
        _ => Reason::CertificateInvalid,
    }
}

/// Returns the reason for which the server ended the connection (RFC 8446, 6.2).
fn of_alert(alert: AlertDescription) -> Reason {
    match alert {
        AlertDescription::CertificateRequired => Reason::ClientCertificateWanted,
        AlertDescription::NoCertificate
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => Reason::ClientCertificateRefused,
        AlertDescription::ProtocolVersion => Reason::NoSharedVersion,
        AlertDescription::InsufficientSecurity => Reason::NoSharedCipher,
        AlertDescription::HandshakeFailure => Reason::HandshakeFailure,
        AlertDescription::NoApplicationProtocol => Reason::NoSharedProtocol,
        AlertDescription::UnrecognisedName => Reason::UnknownServerName,
        _ => Reason::Tls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_fail_has_its_reason() {
        let certificate = Error::InvalidCertificate;
        for (error, expected) in [
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), Reason::NotTls),
            (certificate(CertificateError::Expired), Reason::CertificateExpired),
            (certificate(CertificateError::NotValidYet), Reason::CertificateNotYetValid),
            (certificate(CertificateError::NotValidForName), Reason::CertificateName),
            (certificate(CertificateError::UnknownIssuer), Reason::CertificateUntrusted),
            (certificate(CertificateError::BadSignature), Reason::CertificateUntrusted),
            (certificate(CertificateError::BadEncoding), Reason::CertificateInvalid),
            (PeerIncompatible::ServerDoesNotSupportTls12Or13.into(), Reason::NoSharedVersion),
            (PeerIncompatible::NoCipherSuitesInCommon.into(), Reason::NoSharedCipher),
            (Error::DecryptError, Reason::Tls),
        ] {
            assert_eq!(of(&error), Fault { reason: expected, words: error.to_string() });
        }
    }

    #[test]
    fn an_alert_is_named_with_its_number() {
        for (number, name, expected) in [
            (40, "HandshakeFailure", Reason::HandshakeFailure),
            (42, "BadCertificate", Reason::ClientCertificateRefused),
            (70, "ProtocolVersion", Reason::NoSharedVersion),
            (71, "InsufficientSecurity", Reason::NoSharedCipher),
            (80, "InternalError", Reason::Tls),
            (112, "UnrecognisedName", Reason::UnknownServerName),
            (116, "CertificateRequired", Reason::ClientCertificateWanted),
            (120, "NoApplicationProtocol", Reason::NoSharedProtocol),
        ] {
            let fault = of(&Error::AlertReceived(AlertDescription::from(number)));
            let words = format!("received fatal alert {number}: {name}");
            assert_eq!(fault, Fault { reason: expected, words });
        }
    }
}
