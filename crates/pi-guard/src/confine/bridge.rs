//! The bridge between a command that has a network of its own, with nobody in it, and the proxy
//! outside: it listens on the loopback address inside and passes bytes to the proxy's socket.
//!
//! It decides nothing, so nothing is lost if a command takes its place or gets hold of it; what
//! holds is the proxy. It is not a child of the command, has none of its descriptors, no rights
//! but those it needs, and ends with the namespace of processes it is in.
//!
//! Started in two steps: the first listens, starts the second with the listening socket as its
//! standard input, and ends. So it is ready when the first has ended, and belongs to nobody.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{HELPER_ARGUMENT, kernel};

/// Where the proxy's socket is in the view of the command: bubblewrap's own `/dev`, which is
/// always there and never anybody's directory.
pub(super) const SOCKET: &str = "/dev/pi-proxy";
/// Arguments of the two steps.
pub(super) const OPEN: &str = "--bridge-open";
pub(super) const SERVE: &str = "--bridge-serve";

/// Nobody else is in that network; only below the ports that the kernel gives out by itself.
const PORT: u16 = 31280;
/// More than the proxy takes.
const MOST_CONNECTIONS: usize = 160;
const STACK: usize = 64 * 1024;
/// How long a client is listened to that nobody answers any more.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Names under which programs look for a proxy.
const NAMES: [&str; 6] =
    ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "https_proxy", "http_proxy"];

/// Sets the variables that lead programs here, and takes away what leads them past it.
pub(super) fn lead_to_it(environment: &mut Vec<(OsString, OsString)>) {
    let about = |name: &OsString| {
        let upper = name.to_ascii_uppercase();
        upper == "NO_PROXY" || NAMES.iter().any(|other| upper == *other)
    };
    environment.retain(|(name, _)| !about(name) && name != "NODE_USE_ENV_PROXY");
    let address = OsString::from(format!("http://127.0.0.1:{PORT}"));
    environment.extend(NAMES.map(|name| (name.into(), address.clone())));
    // Node looks at the others only if it is told to.
    environment.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
}

/// Starts both steps and waits for the first.
pub(super) fn start() -> io::Result<()> {
    let opened = again(OPEN).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if opened.success() { Ok(()) } else { Err(io::Error::other("the bridge does not start")) }
}

/// This program once more, with nothing of the command.
fn again(step: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args([HELPER_ARGUMENT, step]).env_clear().current_dir("/");
    command
}

/// The first step; does not return if it succeeds.
pub(super) fn open() -> io::Error {
    let opened = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).and_then(|listener| {
        let mut second = again(SERVE);
        second.stdin(OwnedFd::from(listener)).stdout(Stdio::null()).stderr(Stdio::null());
        // A signal to the command's group is not meant for it.
        second.process_group(0).spawn()
    });
    match opened {
        Ok(_) => std::process::exit(0),
        Err(error) => error,
    }
}

/// The second step; returns only if it cannot go on.
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
        // Each connection holds one until it ends.
        if Arc::strong_count(&open) > MOST_CONNECTIONS {
            continue;
        }
        let held = Arc::clone(&open);
        let builder = thread::Builder::new().stack_size(STACK);
        drop(builder.spawn(move || {
            // Who finds no proxy finds a closed connection.
            let _ = UnixStream::connect(SOCKET).and_then(|proxy| pass(&client, &proxy));
            drop(held);
        }));
    }
}

/// Bytes in both directions until both have ended.
fn pass(client: &TcpStream, proxy: &UnixStream) -> io::Result<()> {
    let (mut from_client, mut to_proxy) = (client.try_clone()?, proxy.try_clone()?);
    let builder = thread::Builder::new().stack_size(STACK);
    let towards = builder.spawn(move || {
        match io::copy(&mut from_client, &mut to_proxy) {
            Ok(_) => drop(to_proxy.shutdown(Shutdown::Write)),
            // The proxy hears no more, but may have said why; a connection that is closed with
            // something unread in it would take that back.
            Err(_) => {
                let _ = from_client.set_read_timeout(Some(LAST_WORDS));
                let _ = io::copy(&mut from_client, &mut io::sink());
            }
        }
    })?;
    let (mut from_proxy, mut to_client) = (proxy, client);
    if io::copy(&mut from_proxy, &mut to_client).is_err() {
        let _ = proxy.shutdown(Shutdown::Both);
    }
    let _ = client.shutdown(Shutdown::Write);
    let _ = towards.join();
    Ok(())
}
