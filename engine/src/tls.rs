//! TLS: what the sessions of a trial share, above all the certificates that they trust. Each connection has a
//! `Session` of its own.
//!
//! A user's first session begins with a full handshake, like that of a new client. If the server gives tickets, each
//! later session resumes the one before it, as in a browser. No user resumes another user's session: a new user would
//! then cost the server less than a new client does.

mod faults;
mod session;
mod tickets;

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, Resumption, UnbufferedClientConnection, WantsClientCert};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ConfigBuilder, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

pub use session::Session;
use tickets::Tickets;

use crate::carried::Carried;
use crate::failure::Failure;
use crate::spec::{ClientCertificateSpec, TlsSpec};

/// What the sessions of a trial share. All threads use it.
pub struct Tls {
    config: ClientConfig,
    server_name: ServerName<'static>,
}

/// What a user keeps from one session to the next in order to resume it. It is empty before the first session.
#[derive(Default)]
pub struct Resumable(Option<Arc<ClientConfig>>);

impl Tls {
    /// # Errors
    /// If the server name is not valid, or if a file of certificates or a key cannot be used (exit code 2).
    pub fn new(spec: &TlsSpec, carried: &Carried) -> Result<Self, Failure> {
        let name = &spec.server_name;
        let server_name = ServerName::try_from(name.clone()).map_err(|_| {
            Failure::usage(format!("no certificate can be for {name:?}"))
                .remedy("give a host name or an address as target.tls.server_name")
        })?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::new(format!("cannot set up TLS: {error}")))?;
        let builder = match (spec.verify, &spec.ca_file) {
            (true, Some(path)) => builder.with_root_certificates(from_file(path, carried)?),
            (true, None) => builder.with_root_certificates(from_system()?),
            (false, _) => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider)))
            }
        };
        let mut config = match &spec.client {
            None => builder.with_no_client_auth(),
            Some(client) => own_certificate(builder, client, carried)?,
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config, server_name })
    }

    /// Returns a session for a connection that a user has just opened.
    pub fn session(&self, user: &mut Resumable) -> Session {
        let config = user.0.get_or_insert_with(|| {
            let mut config = self.config.clone();
            config.resumption = Resumption::store(Arc::new(Tickets::default()));
            Arc::new(config)
        });
        let connection = UnbufferedClientConnection::new(config.clone(), self.server_name.clone());
        Session::new(connection.expect("only random numbers can be wanting, and the kernel has them"))
    }
}

fn from_file(path: &str, carried: &Carried) -> Result<RootCertStore, Failure> {
    const REMEDY: &str = "give a readable file of certificates in PEM as target.tls.ca_file";
    let unusable = |error: &dyn fmt::Display| {
        Failure::usage(format!("cannot trust the certificates in {path}: {error}")).remedy(REMEDY)
    };
    let mut roots = RootCertStore::empty();
    let pem = carried.read(path).map_err(|error| unusable(&error))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"there are none"));
    }
    Ok(roots)
}

/// Returns a configuration whose client shows a certificate of its own.
fn own_certificate(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    client: &ClientCertificateSpec,
    carried: &Carried,
) -> Result<ClientConfig, Failure> {
    const REMEDY: &str =
        "give a certificate and its key, both in PEM and the key not encrypted, as target.tls.client";
    let unusable = |path: &str, error: &dyn fmt::Display| {
        Failure::usage(format!("cannot show the certificate in {path}: {error}")).remedy(REMEDY)
    };
    let (cert_file, key_file) = (&client.cert_file, &client.key_file);
    let pem = carried.read(cert_file).map_err(|error| unusable(cert_file, &error))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(cert_file, &error))?;
    if chain.is_empty() {
        return Err(unusable(cert_file, &"there is none"));
    }
    let no_key = |error: &dyn fmt::Display| {
        Failure::usage(format!("cannot use the key in {key_file}: {error}")).remedy(REMEDY)
    };
    let pem = carried.read(key_file).map_err(|error| no_key(&error))?;
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| no_key(&error))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| unusable(cert_file, &error))
}

fn from_system() -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    // Some systems carry certificates that are too old to parse. The others serve as well.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Failure::usage("this system trusts no certificates")
            .remedy("install its ca-certificates, or name a file of them as target.tls.ca_file"));
    }
    Ok(roots)
}

/// Accepts every certificate.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod peer;

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
