//! What a program and its supervisor tell each other.
//!
//! One request (the program and its arguments), then replies of fixed length: one says whether it
//! has started, one how it has ended.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Bytes of a reply: what it is about, and a number.
pub(crate) const REPLY: usize = 5;

const STARTED: u8 = b's';
const FAILED: u8 = b'f';
const EXITED: u8 = b'x';

/// What a program finds as its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing.
    Empty = 0,
    /// What its standard output is, which is a socket then and works in both directions.
    Output = 1,
}

/// The request to run a program.
pub(crate) fn request(input: Input, program: &Path, arguments: &[OsString]) -> Vec<u8> {
    let mut request = vec![input as u8];
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    request.extend(length(1 + arguments.len()));
    for word in std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsStr::new)) {
        request.extend(length(word.len()));
        request.extend(word.as_bytes());
    }
    request
}

/// What a request says: the input, and the words.
pub(crate) fn read_request(mut from: impl Read) -> io::Result<(Input, Vec<OsString>)> {
    let mut input = [0];
    from.read_exact(&mut input)?;
    let input = if input == [Input::Output as u8] { Input::Output } else { Input::Empty };
    let count = read_number(&mut from)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; read_number(&mut from)? as usize];
        from.read_exact(&mut word)?;
        words.push(OsString::from_vec(word));
    }
    Ok((input, words))
}

fn read_number(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// The reply that it runs, or why it does not.
pub(crate) fn reply_started(result: Result<(), &io::Error>) -> [u8; REPLY] {
    match result {
        Ok(()) => reply(STARTED, 0),
        Err(error) => reply(FAILED, error.raw_os_error().unwrap_or_default()),
    }
}

/// The reply that it has ended.
pub(crate) fn reply_exited(code: i32) -> [u8; REPLY] {
    reply(EXITED, code)
}

fn reply(about: u8, number: i32) -> [u8; REPLY] {
    let [a, b, c, d] = number.to_le_bytes();
    [about, a, b, c, d]
}

/// Whether a reply says that it runs.
pub(crate) fn started([about, number @ ..]: [u8; REPLY]) -> io::Result<()> {
    match about {
        STARTED => Ok(()),
        FAILED => Err(io::Error::from_raw_os_error(i32::from_le_bytes(number))),
        _ => Err(io::Error::other("this program is not a supervisor")),
    }
}

/// How a reply says that it has ended.
pub(crate) fn exit_code([about, number @ ..]: [u8; REPLY]) -> Option<i32> {
    (about == EXITED).then(|| i32::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        let words = ["", "-c", "echo 'a\nb'", "\u{20ac}"].map(OsString::from);
        let bytes = request(Input::Output, Path::new("shell"), &words);
        let (input, arrived) = read_request(&bytes[..]).unwrap();
        assert_eq!(input, Input::Output);
        assert_eq!(arrived[0], "shell");
        assert_eq!(arrived[1..], words);
        assert!(read_request(&bytes[..3]).is_err(), "the program died while asking");
    }

    #[test]
    fn replies() {
        assert_eq!(exit_code(reply_exited(255)), Some(255));
        assert_eq!(exit_code(reply_started(Ok(()))), None);
        started(reply_started(Ok(()))).unwrap();
        let missing = io::Error::from_raw_os_error(2);
        let error = started(reply_started(Err(&missing))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
