//! Checks that this machine has what a plan needs, before anything is started: cores, addresses, memory, descriptors.

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::failure::Failure;
use crate::plan::Plan;
use crate::{cores, limits, memory};

/// # Errors
/// If a core or an address is not available (exit code 2), or if there is too little memory or there are too few
/// descriptors (1).
pub fn check(plan: &Plan) -> Result<(), Failure> {
    cores::check(&plan.cores)?;
    cores::check(&plan.speed_of_cores)?;
    plan.sources.iter().try_for_each(|&source| check_source(source))?;
    memory::check(plan)?;
    limits::raise_descriptors(limits::needed(plan.shape.connections(), plan.threads))
}

/// Binds a datagram socket to `source` once. It takes none of the ports that the load needs.
fn check_source(source: IpAddr) -> Result<(), Failure> {
    let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let bound = net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .and_then(|socket| net::bind(&socket, &SocketAddr::new(source, 0)));
    match bound {
        // Only the address is checked, and no port that may be in use.
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
        // No machine is in this network (RFC 5737).
        let failure = check_source("192.0.2.7".parse().unwrap()).unwrap_err();
        assert!(failure.error.contains("192.0.2.7"), "{}", failure.error);
        assert_eq!(failure.exit_code, 2);
    }
}
