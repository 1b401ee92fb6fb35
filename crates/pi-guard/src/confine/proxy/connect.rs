//! Connecting to a host that the filter allows, at an address that was checked.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::request::Request;
use super::{HostFilter, RefusedHost, Rejection, address};

/// The time that a server may take to accept a connection, for each of its addresses.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_ADDRESSES: usize = 4;

/// A function that looks up the addresses of a name.
pub(super) type LookUp = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

pub(super) fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// The reason why there is no connection to a host.
pub(super) enum ConnectError {
    /// The filter, or the address behind the name, does not allow the host.
    Refused(RefusedHost),
    /// The host is allowed but cannot be reached.
    Failed(String),
}

impl From<ConnectError> for Rejection {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(RefusedHost { host, port, reason }) => Self::new(
                403,
                format!("access to {host}:{port} is denied by the sandbox: {reason}"),
            ),
            ConnectError::Failed(reason) => Self::new(502, reason),
        }
    }
}

/// Connects to the host of a request. The name is looked up here, and only addresses that were
/// checked are used.
pub(super) fn connect(
    filter: &HostFilter,
    look_up: LookUp,
    request: &Request,
) -> Result<TcpStream, ConnectError> {
    let Request { host, port, .. } = request;
    let refused = |reason: String| {
        ConnectError::Refused(RefusedHost { host: host.clone(), port: *port, reason })
    };
    filter(host, *port).map_err(refused)?;
    let mut addresses = Vec::new();
    if let Ok(address) = host.parse::<IpAddr>() {
        addresses.push(Address { socket: SocketAddr::new(address, *port), allowed: true });
    } else {
        let found = look_up(host, *port).map_err(|error| {
            ConnectError::Failed(format!("the name {host} cannot be looked up: {error}"))
        })?;
        for socket in found {
            addresses.push(Address { socket, allowed: is_allowed(filter, host, socket) });
        }
    }
    if addresses.is_empty() {
        return Err(ConnectError::Failed(format!("{host} has no address")));
    }
    let mut failure = None;
    let mut is_own = false;
    addresses.retain(|address| address.allowed || address::is_public(address.socket.ip()));
    for address in addresses.iter().take(MOST_ADDRESSES) {
        match TcpStream::connect_timeout(&address.socket, CONNECT_TIMEOUT) {
            // The same address at both ends is this machine, even if the address is public.
            Ok(server)
                if !address.allowed
                    && server.local_addr().is_ok_and(|own| own.ip() == address.socket.ip()) =>
            {
                is_own = true;
            }
            Ok(server) => {
                let _ = server.set_nodelay(true);
                return Ok(server);
            }
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) if !is_own => {
            Err(ConnectError::Failed(format!("{host}:{port} does not answer: {error}")))
        }
        _ => Err(refused(
            "the name leads to this machine or its own network; allow that address, too, if this \
             is intended"
                .to_owned(),
        )),
    }
}

struct Address {
    socket: SocketAddr,
    /// True if the filter allows this address itself, and not only a name that leads to it.
    allowed: bool,
}

/// Returns true for an address that is not public and that the filter allows as such.
fn is_allowed(filter: &HostFilter, host: &str, address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    if address::is_public(ip) {
        return false;
    }
    if address::is_loopback(ip)
        && (host == "localhost" || filter("localhost", address.port()).is_ok())
    {
        return true;
    }
    filter(&ip.to_string(), address.port()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::thread;

    use super::super::{Proxy, host_matches};
    use super::*;

    /// Returns the response to a request for a tunnel if only the `allowed` hosts may be reached.
    fn request_tunnel(host: &str, port: u16, allowed: &[&str]) -> (String, Vec<RefusedHost>) {
        let directory = tempfile::tempdir().unwrap();
        let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
        let filter: HostFilter =
            Arc::new(move |host: &str, _| match host_matches(&allowed, host) {
                true => Ok(()),
                false => Err("it is not on the list".to_owned()),
            });
        // Every name leads to this machine.
        let look_up: LookUp = |host, port| {
            let mapped = "::ffff:127.0.0.1".parse().unwrap();
            let here = if host.starts_with("mapped") { mapped } else { [127, 0, 0, 1].into() };
            Ok(vec![SocketAddr::new(here, port)])
        };
        let proxy = Proxy::start_with(directory.path(), filter, look_up).unwrap();
        let mut client = UnixStream::connect(proxy.socket()).unwrap();
        client.write_all(format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        (response, proxy.take_refused())
    }

    #[test]
    fn a_name_that_leads_to_this_machine_is_refused() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || listener.incoming().for_each(drop));
        for host in ["rebound.test", "mapped.test", "printer"] {
            let (response, refused) = request_tunnel(host, port, &["*"]);
            assert!(response.starts_with("HTTP/1.1 403 "), "{host}: {response}");
            assert!(response.contains("leads to this machine"), "{host}: {response}");
            assert_eq!((refused.len(), refused[0].host.as_str()), (1, host));
        }
        // The name is not allowed, so it is not looked up.
        let (response, refused) = request_tunnel("other.test", port, &["rebound.test"]);
        assert!(response.contains("it is not on the list"), "{response}");
        assert_eq!(refused[0].port, port);
        let allowed = [
            ("localhost", &["localhost"][..]),
            ("rebound.test", &["rebound.test", "localhost"]),
            ("mapped.test", &["*.test", "127.0.0.1"]),
            ("127.0.0.1", &["127.0.0.1"]),
            ("[::ffff:127.0.0.1]", &["127.0.0.1"]),
        ];
        for (host, allowed) in allowed {
            let (response, refused) = request_tunnel(host, port, allowed);
            assert!(response.starts_with("HTTP/1.1 200 "), "{host}: {response}");
            assert!(refused.is_empty(), "{host}");
        }
        for (host, allowed) in
            [("127.0.0.1", "localhost"), ("localhost", "127.0.0.1"), ("127.0.0.1", "*")]
        {
            assert!(
                request_tunnel(host, port, &[allowed]).0.starts_with("HTTP/1.1 403 "),
                "{host}"
            );
        }
    }
}
