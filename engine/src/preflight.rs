//! What a plan needs of this machine, tried before anything is started: cores, addresses, descriptors.

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::failure::Failure;
use crate::plan::Plan;
use crate::{cores, limits};

/// # Errors
/// A core or an address that is not to be had (exit code 2), too few descriptors (1).
pub fn check(plan: &Plan) -> Result<(), Failure> {
    cores::check(&plan.cores)?;
    plan.sources.iter().try_for_each(|&source| check_source(source))?;
    limits::raise_descriptors(limits::needed(plan.shape.connections(), plan.threads))
}

/// Binds a socket to `source` once. Of datagrams: it takes no port of those that the load is to have.
fn check_source(source: IpAddr) -> Result<(), Failure> {
    let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let bound = net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .and_then(|socket| net::bind(&socket, &SocketAddr::new(source, 0)));
    match bound {
        // A port is not what was asked for.
        Ok(()) | Err(Errno::ADDRINUSE) => Ok(()),
        Err(errno) => Err(Failure::usage(format!("target.sources: cannot connect from {source}: {errno}"))
            .remedy("name addresses of this machine; `ip address` shows them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_another_machine_is_named() {
        assert!(check_source("127.0.0.9".parse().unwrap()).is_ok());
        // Of a network that no machine is in (RFC 5737).
        let failure = check_source("192.0.2.7".parse().unwrap()).unwrap_err();
        assert!(failure.error.contains("192.0.2.7"), "{}", failure.error);
        assert_eq!(failure.exit_code, 2);
    }
}
