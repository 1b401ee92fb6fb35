//! Scripts for a remote shell: how they are sent, and how their answers are parsed.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::io::Errno;

use pi_fs::NotRegular;

/// Returns a random word that marks lines of our scripts.
pub(super) fn mark() -> String {
    // Keyed with random bytes of the system. Two hashes, because consecutive keys are related.
    let random = || std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("pi-{:016x}{:016x}", random(), random())
}

/// Returns a command line that makes any login shell run `sh` with a script and its arguments.
///
/// The login shell is unknown, so the line avoids everything that csh, fish and others treat
/// differently: the script is one word in single quotes without line breaks, exclamation marks or
/// backslashes that have a meaning to them. The `sh` that it starts decodes the script.
pub(super) fn line(script: &str, arguments: &[OsString]) -> OsString {
    let mut text = b"set --".to_vec();
    for argument in arguments {
        text.extend(b" '");
        for byte in argument.as_bytes() {
            match byte {
                b'\'' => text.extend(b"'\\''"),
                byte => text.push(*byte),
            }
        }
        text.push(b'\'');
    }
    text.push(b'\n');
    text.extend(script.as_bytes());

    let mut line = b"exec sh -c 'eval \"$(printf %b \"".to_vec();
    for byte in text {
        match byte {
            b'\'' | b'"' | b'$' | b'`' | b'\\' | b'!' | 0..=31 | 127 => {
                line.extend(format!("\\0{byte:03o}").bytes());
            }
            byte => line.push(byte),
        }
    }
    line.extend(b"\")\"'");
    OsString::from_vec(line)
}

/// Parses the answer of a script; `None` if the script did not end.
pub(super) fn answer(mut output: Vec<u8>, mark: &str) -> Option<io::Result<Vec<u8>>> {
    let mark = mark.as_bytes();
    // Shells may print greetings first.
    let start = find(&output, mark)? + mark.len() + 1;
    let end = output.strip_suffix(b"\n")?.iter().rposition(|byte| *byte == b' ')?;
    let code = str::from_utf8(&output[end + 1..output.len() - 1]).ok()?.to_owned();
    let end = end.checked_sub(mark.len()).filter(|end| *end >= start)?;
    if !output[end..].starts_with(mark) {
        return None;
    }
    output.truncate(end);
    output.drain(..start);
    Some(if code == "ok" { Ok(output) } else { Err(error(&code)) })
}

/// Returns the position of a word.
pub(super) fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    let first = *word.first()?;
    let mut from = 0;
    loop {
        from += bytes.get(from..)?.iter().position(|byte| *byte == first)?;
        if bytes[from..].starts_with(word) {
            return Some(from);
        }
        from += 1;
    }
}

/// Returns the error with this name. Numbers differ between systems, names do not.
pub(super) fn error(name: &str) -> io::Error {
    let number = match name {
        "ENOENT" => Errno::NOENT,
        "ENOTDIR" => Errno::NOTDIR,
        "ENOTREG" => return NotRegular.into(),
        "EISDIR" => Errno::ISDIR,
        "EACCES" => Errno::ACCESS,
        "EPERM" => Errno::PERM,
        "EEXIST" => Errno::EXIST,
        "ELOOP" => Errno::LOOP,
        "ENAMETOOLONG" => Errno::NAMETOOLONG,
        "ENOSPC" => Errno::NOSPC,
        "EROFS" => Errno::ROFS,
        "EFBIG" => Errno::FBIG,
        "EDQUOT" => Errno::DQUOT,
        "EIO" => Errno::IO,
        "EPIPE" => {
            let text = "the content was not received completely; nothing was changed";
            return io::Error::new(io::ErrorKind::UnexpectedEof, text);
        }
        other => return io::Error::other(format!("unknown error {other}")),
    };
    number.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::disallowed_methods, reason = "a test starts a program directly")]
    #[test]
    fn shells_pass_scripts_on_unchanged() {
        let arguments: Vec<OsString> = [
            &b""[..],
            b"a b",
            b"it's \"$HOME\" `id` \\n !x\nend\n",
            b"\xff\x01\xc3\xa9",
            b"%s \\0101 -n",
        ]
        .map(|bytes| OsString::from_vec(bytes.to_vec()))
        .to_vec();
        let line = line("for word; do printf '<%s>' \"$word\"; done", &arguments);
        for shell in ["sh", "bash"] {
            let shown = std::process::Command::new(shell).arg("-c").arg(&line).output().unwrap();
            let mut expected = Vec::new();
            for argument in &arguments {
                expected.extend([b"<", argument.as_bytes(), b">"].concat());
            }
            assert_eq!(shown.stdout, expected, "{shell}: {:?}", shown.stderr);
        }
    }

    #[test]
    fn greetings_are_skipped_and_incomplete_answers_rejected() {
        let cases: [(&str, Option<Result<&str, &str>>); 7] = [
            ("M\nM ok\n", Some(Ok(""))),
            ("welcome\nM\nbody M ok\nM ok\n", Some(Ok("body M ok\n"))),
            ("M\nM ENOENT\n", Some(Err("ENOENT"))),
            ("M\nbody", None),
            ("M\nbodyM o", None),
            ("M\nbody\n", None),
            ("", None),
        ];
        for (output, expected) in cases {
            let found = answer(output.as_bytes().to_vec(), "M").map(|found| {
                found.map(|body| String::from_utf8(body).unwrap()).map_err(|error| error.kind())
            });
            let expected = expected.map(|expected| {
                expected.map(str::to_owned).map_err(|name| super::error(name).kind())
            });
            assert_eq!(found, expected, "{output:?}");
        }
    }
}
