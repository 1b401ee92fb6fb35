//! How the listener of a command reaches the judge: through a socket, from the helper.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use pi_exec_watch::Reported;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::Watch;

/// The path of the socket in the view of a command with bubblewrap: in the private `/dev`. Commands
/// cannot open Unix sockets.
pub(in super::super) const SOCKET: &str = "/dev/pi-watch";

/// The helper sends without a pause.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes that an attached descriptor takes.
const ATTACHED: usize = rustix::cmsg_space!(ScmRights(1));

/// A connection of the helper to the judge.
pub(in super::super) struct Connection {
    socket: UnixStream,
    flags: u8,
    reported: Reported,
}

/// Connects to the judge, while this process still may.
pub(in super::super) fn connect(watch: &Watch, inside: bool) -> io::Result<Connection> {
    let path = if inside { Path::new(SOCKET) } else { &watch.socket };
    let (flags, reported) = (watch.flags(), watch.reported());
    Ok(Connection { socket: UnixStream::connect(path)?, flags, reported })
}

impl Connection {
    /// Lets the judge decide about every program from now on. The listener is closed here: as long
    /// as a process that it reports holds it, the end of the judge would go unnoticed.
    pub(in super::super) fn begin(self) -> io::Result<()> {
        let listener = match pi_exec_watch::install(self.reported) {
            // An ordinary user may install filters only if programs cannot raise privileges.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                rustix::thread::set_no_new_privs(true)?;
                pi_exec_watch::install(self.reported)
            }
            installed => installed,
        }?;
        let descriptors = [listener.as_fd()];
        let mut space = [MaybeUninit::uninit(); ATTACHED];
        let mut attached = SendAncillaryBuffer::new(&mut space);
        attached.push(SendAncillaryMessage::ScmRights(&descriptors));
        let flags = [IoSlice::new(std::slice::from_ref(&self.flags))];
        sendmsg(&self.socket, &flags, &mut attached, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// Receives the listener of a command and its flags.
pub(super) fn receive(helper: &UnixStream) -> io::Result<(OwnedFd, u8)> {
    helper.set_read_timeout(Some(TIMEOUT))?;
    let (mut flags, mut space) = ([0], [MaybeUninit::uninit(); ATTACHED]);
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut flags)];
    recvmsg(helper, &mut slices, &mut attached, RecvFlags::CMSG_CLOEXEC)?;
    for message in attached.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message
            && let Some(listener) = descriptors.next()
        {
            return Ok((listener, flags[0]));
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
