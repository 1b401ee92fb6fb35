//! The bridge between a command in an empty network of its own and the proxy outside: it listens on
//! the loopback address inside and passes bytes to the socket of the proxy.
//!
//! The bridge decides nothing, so nothing is lost if a command replaces or controls it; the proxy
//! enforces the limit. The bridge is not a child of the command, has none of its descriptors, only
//! the privileges that it needs, and ends with its process namespace.
//!
//! It starts in two steps: the first process listens, starts the second with the listening socket as
//! its standard input, and ends. So the bridge is ready when the first process has ended, and its
//! parent is the init process of the namespace.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pi_base::process::{Rights, Variables, command};

use super::{HELPER_ARGUMENT, kernel};

/// The path of the proxy socket in the view of the command: in the private `/dev`, which always
/// exists and contains no root.
pub(super) const SOCKET: &str = "/dev/pi-proxy";
/// The arguments of the two steps.
pub(super) const OPEN: &str = "--bridge-open";
pub(super) const SERVE: &str = "--bridge-serve";

/// The port is free, because the network is empty and the kernel assigns only higher ports.
const PORT: u16 = 31280;
/// More connections than the proxy accepts.
const MOST_CONNECTIONS: usize = 160;
const STACK: usize = 64 * 1024;
/// The time for which bytes of a client are still read after the proxy has stopped reading.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The variables in which programs look for a proxy.
const NAMES: [&str; 6] =
    ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "https_proxy", "http_proxy"];

/// Sets the variables that lead programs to the bridge, and removes those that bypass it.
pub(super) fn set_proxy_variables(environment: &mut Vec<(OsString, OsString)>) {
    let is_proxy_variable = |name: &OsString| {
        let upper = name.to_ascii_uppercase();
        upper == "NO_PROXY" || NAMES.iter().any(|other| upper == *other)
    };
    environment.retain(|(name, _)| !is_proxy_variable(name) && name != "NODE_USE_ENV_PROXY");
    let address = OsString::from(format!("http://127.0.0.1:{PORT}"));
    environment.extend(NAMES.map(|name| (name.into(), address.clone())));
    // Node uses the others only with this variable.
    environment.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
}

/// Starts both steps and waits for the first.
pub(super) fn start() -> io::Result<()> {
    let opened = this_program(OPEN).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if opened.success() { Ok(()) } else { Err(io::Error::other("the bridge cannot be started")) }
}

/// Returns a command that runs this program without the environment of the command.
fn this_program(step: &str) -> Command {
    let root = Some(Path::new("/"));
    let mut command = command("/proc/self/exe", root, Variables::Empty, Rights::Own);
    command.args([HELPER_ARGUMENT, step]);
    command
}

/// Runs the first step. Does not return if it succeeds.
pub(super) fn open() -> io::Error {
    let opened = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).and_then(|listener| {
        let mut second = this_program(SERVE);
        second.stdin(OwnedFd::from(listener)).stdout(Stdio::null()).stderr(Stdio::null());
        // A signal to the process group of the command must not reach the bridge.
        second.process_group(0).spawn()
    });
    match opened {
        Ok(_) => std::process::exit(0),
        Err(error) => error,
    }
}

/// Runs the second step. Returns only on failure.
pub(super) fn serve() -> io::Error {
    let listener = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(listener) => TcpListener::from(listener),
        Err(error) => return error,
    };
    if let Err(error) = kernel::give_up_all() {
        return io::Error::other(error);
    }
    let open = Arc::new(());
    loop {
        let client = match listener.accept() {
            Ok((client, _)) => client,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return error,
            Err(_) => {
                thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        // Each connection holds a reference until it ends.
        if Arc::strong_count(&open) > MOST_CONNECTIONS {
            continue;
        }
        let held = Arc::clone(&open);
        let builder = thread::Builder::new().stack_size(STACK);
        drop(builder.spawn(move || {
            // Without a proxy the connection is closed.
            let _ = UnixStream::connect(SOCKET).and_then(|proxy| pass(&client, &proxy));
            drop(held);
        }));
    }
}

/// Passes bytes in both directions until both have ended.
fn pass(client: &TcpStream, proxy: &UnixStream) -> io::Result<()> {
    let (mut from_client, mut to_proxy) = (client.try_clone()?, proxy.try_clone()?);
    let builder = thread::Builder::new().stack_size(STACK);
    let sending = builder.spawn(move || {
        match io::copy(&mut from_client, &mut to_proxy) {
            Ok(_) => drop(to_proxy.shutdown(Shutdown::Write)),
            // The proxy has stopped reading, but may have sent a reason. Closing a connection
            // with unread bytes would discard it.
            Err(_) => {
                let _ = from_client.set_read_timeout(Some(DRAIN_TIMEOUT));
                let _ = io::copy(&mut from_client, &mut io::sink());
            }
        }
    })?;
    let (mut from_proxy, mut to_client) = (proxy, client);
    if io::copy(&mut from_proxy, &mut to_client).is_err() {
        let _ = proxy.shutdown(Shutdown::Both);
    }
    let _ = client.shutdown(Shutdown::Write);
    let _ = sending.join();
    Ok(())
}
