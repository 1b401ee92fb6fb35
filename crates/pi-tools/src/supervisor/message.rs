//! Messages between a program and its supervisor.
//!
//! First one byte, to which the descriptor of the command's standard input may be attached. Then
//! one request: the command and its arguments. The supervisor sends replies of fixed length: one
//! when the command has started, one when it has ended. A later [`TERMINATE`] asks the processes of
//! the command to exit.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Bytes of a reply: its kind and a number.
pub(crate) const REPLY: usize = 5;

/// Asks the supervisor to send SIGTERM to the processes of the command.
pub(crate) const TERMINATE: u8 = b't';

const STARTED: u8 = b's';
const FAILED: u8 = b'f';
const EXITED: u8 = b'x';

/// Bytes that an attached descriptor takes.
const ATTACHED: usize = rustix::cmsg_space!(ScmRights(1));

/// Sends the standard input of the command; without one, its input is empty.
///
/// The descriptor travels through the socket because the three standard streams of the supervisor
/// are taken: by this socket, and by the output and the errors of the command.
pub(crate) fn send_input(socket: impl AsFd, input: Option<&OwnedFd>) -> io::Result<()> {
    let descriptors = input.map(|input| [input.as_fd()]);
    let mut space = [MaybeUninit::uninit(); ATTACHED];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    if let Some(descriptors) = &descriptors {
        attached.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    sendmsg(socket, &[IoSlice::new(&[0])], &mut attached, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives the standard input of the command. To be called before anything else is read.
pub(crate) fn receive_input(socket: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let (mut byte, mut space) = ([0], [MaybeUninit::uninit(); ATTACHED]);
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut byte)];
    let received = recvmsg(socket, &mut slices, &mut attached, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut input = None;
    for message in attached.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            input = descriptors.next();
        }
    }
    Ok(input)
}

/// Encodes the request to run a program.
pub(crate) fn request(program: &Path, arguments: &[OsString]) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut request = length(1 + arguments.len()).to_vec();
    for word in std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsStr::new)) {
        request.extend(length(word.len()));
        request.extend(word.as_bytes());
    }
    request
}

/// Reads a request: the program and its arguments.
pub(crate) fn read_request(mut from: impl Read) -> io::Result<Vec<OsString>> {
    let count = read_number(&mut from)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; read_number(&mut from)? as usize];
        from.read_exact(&mut word)?;
        words.push(OsString::from_vec(word));
    }
    Ok(words)
}

fn read_number(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Encodes the reply that the command has started, or the error that prevented it.
pub(crate) fn reply_started(result: Result<(), &io::Error>) -> [u8; REPLY] {
    match result {
        Ok(()) => reply(STARTED, 0),
        Err(error) => reply(FAILED, error.raw_os_error().unwrap_or_default()),
    }
}

/// Encodes the reply that the command has ended.
pub(crate) fn reply_exited(code: i32) -> [u8; REPLY] {
    reply(EXITED, code)
}

fn reply(kind: u8, number: i32) -> [u8; REPLY] {
    let [a, b, c, d] = number.to_le_bytes();
    [kind, a, b, c, d]
}

/// Decodes the first reply: success, or the error that prevented the start.
pub(crate) fn started([kind, number @ ..]: [u8; REPLY]) -> io::Result<()> {
    match kind {
        STARTED => Ok(()),
        FAILED => Err(io::Error::from_raw_os_error(i32::from_le_bytes(number))),
        _ => Err(io::Error::other("this program is not a supervisor")),
    }
}

/// Decodes the exit code of the command.
pub(crate) fn exit_code([kind, number @ ..]: [u8; REPLY]) -> Option<i32> {
    (kind == EXITED).then(|| i32::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn request_round_trips() {
        let words = ["", "-c", "echo 'a\nb'", "\u{20ac}"].map(OsString::from);
        let bytes = request(Path::new("shell"), &words);
        let arrived = read_request(&bytes[..]).unwrap();
        assert_eq!(arrived[0], "shell");
        assert_eq!(arrived[1..], words);
        assert!(read_request(&bytes[..3]).is_err(), "the program died while sending");
    }

    #[test]
    fn standard_input_arrives_before_the_request() {
        let (mut program, supervisor) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        send_input(&program, Some(&reader.into())).unwrap();
        send_input(&program, None).unwrap();
        program.write_all(&request(Path::new("shell"), &[])).unwrap();
        let input = receive_input(&supervisor).unwrap().unwrap();
        assert!(receive_input(&supervisor).unwrap().is_none());
        assert_eq!(read_request(&supervisor).unwrap(), ["shell"]);
        writer.write_all(b"text").unwrap();
        drop(writer);
        let mut text = String::new();
        std::fs::File::from(input).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        drop(program);
        assert!(receive_input(&supervisor).is_err(), "the program died before sending");
    }

    #[test]
    fn replies_round_trip() {
        assert_eq!(exit_code(reply_exited(255)), Some(255));
        assert_eq!(exit_code(reply_started(Ok(()))), None);
        started(reply_started(Ok(()))).unwrap();
        let missing = io::Error::from_raw_os_error(2);
        let error = started(reply_started(Err(&missing))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
