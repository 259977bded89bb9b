//! What a load host says of the ways from it: how far away the lab is, which addresses a name has as it resolves there,
//! and whether anybody listens at an address as seen from there.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::clock::{now_ns, unix_ns};
use crate::failure::Failure;
use crate::output;

/// A SYN that is lost is sent again after a second: a host that is up answers the second one.
const KNOCK: Duration = Duration::from_millis(2500);

/// Answers `clock` at once, and `resolve NAME` and `knock ADDRESS:PORT` from a thread of its own, as both may take longer
/// than the lab may be silent. The answer has the name of the command.
///
/// # Errors
/// If there is no thread.
pub fn answer(line: &str) -> Result<(), Failure> {
    let (command, of) = line.split_once(' ').unwrap_or((line, ""));
    if command == "clock" {
        let clock = json!({"monotonic_ns": now_ns(), "unix_ns": unix_ns()});
        return output::print(&json!({"clock": clock}).to_string());
    }
    let (command, of) = (command.to_owned(), of.to_owned());
    let say = move || {
        let found: Value = if command == "resolve" { json!(resolve(&of)) } else { json!(knock(&of)) };
        let _ = output::print(&json!({command: found}).to_string());
    };
    thread::Builder::new().name("way".to_owned()).spawn(say).map(drop).map_err(Failure::thread)
}

/// The addresses of a name, in the order of preference; or why there are none.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Resolved {
    Addresses(Vec<String>),
    Error(String),
}

/// What came of a first connect.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Knocked {
    /// Somebody listens.
    Listens,
    /// Nobody does.
    Refused,
    /// No answer came.
    Silent,
    Error(String),
}

/// Resolves a name as programs of this machine do. `getent` asks all that nsswitch.conf names, of which a static
/// program has only files and DNS; where there is no such program, those two have to do.
fn resolve(name: &str) -> Resolved {
    match asked(name) {
        Some(found) if !found.is_empty() => Resolved::Addresses(found),
        _ => (name, 0).to_socket_addrs().map_or_else(
            |error| Resolved::Error(plain(&error)),
            |found| Resolved::Addresses(distinct(found.map(|each| each.ip().to_string()))),
        ),
    }
}

/// Connects once to a numeric address and port.
fn knock(address: &str) -> Knocked {
    let Ok(address) = address.parse::<SocketAddr>() else {
        return Knocked::Error(format!("{address} is no address"));
    };
    match TcpStream::connect_timeout(&address, KNOCK) {
        Ok(_) => Knocked::Listens,
        Err(error) => match error.kind() {
            ErrorKind::ConnectionRefused => Knocked::Refused,
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Knocked::Silent,
            _ => Knocked::Error(plain(&error)),
        },
    }
}

/// What `getent ahosts` prints: an address, a kind of socket and, at first, the canonical name on each line.
fn asked(name: &str) -> Option<Vec<String>> {
    let mut getent = Command::new("getent");
    let told =
        getent.args(["ahosts", "--", name]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let printed = String::from_utf8(told.stdout).ok()?;
    Some(distinct(printed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned)))
}

fn distinct(found: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for each in found {
        if !kept.contains(&each) {
            kept.push(each);
        }
    }
    kept
}

/// The message of an error without what Rust adds to it.
fn plain(error: &io::Error) -> String {
    let said = error.to_string();
    said.split(" (os error").next().unwrap_or(&said).replace("failed to lookup address information: ", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_name_has_its_addresses_once_each() {
        let Resolved::Addresses(found) = resolve("localhost") else { panic!("localhost has none") };
        assert!(found.iter().any(|each| each == "127.0.0.1" || each == "::1"), "{found:?}");
        assert_eq!(distinct(found.iter().cloned()), found);
        assert_eq!(resolve("10.1.2.3"), Resolved::Addresses(vec!["10.1.2.3".to_owned()]));
    }

    #[test]
    fn a_name_that_nobody_knows_has_a_reason() {
        let Resolved::Error(why) = resolve("no-such-host.invalid") else { panic!("it is known") };
        assert!(!why.is_empty() && !why.contains("os error") && !why.contains("lookup"), "{why}");
        // It is no option of getent either.
        assert!(matches!(resolve("--help"), Resolved::Error(_)));
    }

    #[test]
    fn a_knock_tells_who_listens_from_who_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert_eq!(knock(&address), Knocked::Listens);
        drop(listener);
        assert_eq!(knock(&address), Knocked::Refused);
        assert!(matches!(knock("name:80"), Knocked::Error(_)));
    }
}
