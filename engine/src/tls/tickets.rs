//! What one user keeps of its session with the server in order to resume it in the next one (RFC 8446, 2.2).

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// The tickets of one user, who connects to one server. It keeps the last ticket of each kind: a server sends new
/// ones in every session.
#[derive(Debug, Default)]
pub struct Tickets(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: Option<Tls13ClientSessionValue>,
}

impl Tickets {
    /// Locks the tickets. This never waits, as a user belongs to one thread.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.kept().tls12 = Some(session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.kept().tls13 = Some(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tls13.take()
    }
}
