//! Reads many files over one connection.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{Remote, script};
use crate::executor::Executor;

/// Number of files that `scripts/fetch.sh` reads at once.
const BATCH: usize = 500;
/// Bytes per file in addition to its content: its size as text, and its share of the rest.
const OVERHEAD: u64 = 64;

/// Reads files. A batch in which a file changed or could not be read is fetched again, file by
/// file.
pub(super) async fn read_many(
    remote: &Remote,
    paths: &[PathBuf],
    limit: u64,
) -> io::Result<Vec<io::Result<Vec<u8>>>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut input = Vec::new();
    for path in paths {
        input.extend(path.as_os_str().as_bytes());
        input.push(0);
    }
    let word = script::mark();
    let arguments = [OsStr::new(&word)];
    let script = include_str!("scripts/fetch.sh");
    let bytes = limit.saturating_add(OVERHEAD.saturating_mul(paths.len() as u64 + 1));
    let answer = remote.run_within(script, &arguments, &input, bytes).await?;
    let end = word + "\n";
    let (mut rest, mut left) = (&answer[..], limit);
    let mut contents = Vec::with_capacity(paths.len());
    for batch in paths.chunks(BATCH) {
        let found = split(&mut rest, batch.len(), end.as_bytes());
        let found = match found {
            Some(found) => found.into_iter().map(|content| Ok(content.to_vec())).collect(),
            None => one_by_one(remote, batch, left).await,
        };
        for content in found {
            let size = content.as_ref().map_or(0, |content| content.len() as u64);
            left = left.checked_sub(size).ok_or(io::ErrorKind::FileTooLarge)?;
            contents.push(content);
        }
    }
    Ok(contents)
}

async fn one_by_one(remote: &Remote, paths: &[PathBuf], limit: u64) -> Vec<io::Result<Vec<u8>>> {
    let mut contents = Vec::new();
    for path in paths {
        contents.push(remote.read(path, limit.saturating_add(1)).await);
    }
    contents
}

/// Takes the contents of `count` files from the answer, if sizes, contents and end are consistent.
fn split<'a>(answer: &mut &'a [u8], count: usize, end: &[u8]) -> Option<Vec<&'a [u8]>> {
    let batch = *answer;
    let next = script::find(batch, end)? + end.len();
    *answer = &batch[next..];
    let line = batch.iter().position(|byte| *byte == b'\n')?;
    let sizes = str::from_utf8(&batch[..line]).ok()?;
    let sizes: Vec<usize> = sizes.split_whitespace().map_while(|size| size.parse().ok()).collect();
    let mut content = batch[line + 1..].get(..next.checked_sub(line + 1 + end.len())?)?;
    if sizes.len() != count || sizes.iter().sum::<usize>() != content.len() {
        return None;
    }
    let take = |size: &usize| {
        let (file, rest) = content.split_at(*size);
        content = rest;
        file
    };
    Some(sizes.iter().map(take).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inconsistent_batches_are_rejected() {
        let cases: [(&str, Option<&[&str]>); 6] = [
            ("1 2 \nabb.E\n", None),
            ("1 2 \nabbE\n", Some(&["a", "bb"])),
            ("0 0 \nE\n", Some(&["", ""])),
            ("1 \naE\n", None),
            ("1 3 \nabbE\n", None),
            ("1 2 \nab", None),
        ];
        for (answer, expected) in cases {
            let whole = answer.to_owned() + "next";
            let mut rest = whole.as_bytes();
            let found = split(&mut rest, 2, b"E\n");
            let expected = expected.map(|files| files.iter().map(|file| file.as_bytes()).collect());
            assert_eq!(found, expected, "{answer:?}");
            assert_eq!(rest == b"next", answer.ends_with("E\n"), "{answer:?}");
        }
    }
}
