//! References of a git repository, their logs and the entries of its index, read from files: git
//! itself is not started.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use pi_fs::if_exists;

/// References by name, each with its value: an object, or `ref: NAME`. `HEAD` is one of them.
pub(super) type References = BTreeMap<String, String>;

/// Returns the references in a `packed-refs` file.
pub(super) fn packed(text: &str) -> References {
    let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.map(|(value, name)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns a `packed-refs` file without some references.
pub(super) fn without(text: &str, removed: &dyn Fn(&str) -> bool) -> String {
    let mut kept = String::new();
    let mut is_removed = false;
    for line in text.lines() {
        // A line with `^` belongs to the one before.
        if !line.starts_with('^') {
            is_removed = line.split_once(' ').is_some_and(|(_, name)| removed(name));
        }
        if !is_removed || line.starts_with('#') {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Reads the value of a reference as it is now.
pub(super) fn current(repository: &Path, name: &str) -> io::Result<Option<String>> {
    let loose = repository.join(name);
    let read = match fs::read_to_string(&loose) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => None,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
        read => if_exists(read)?,
    };
    if let Some(text) = read {
        return Ok(Some(text.trim_end().to_owned()));
    }
    let text = if_exists(fs::read_to_string(repository.join("packed-refs")))?;
    Ok(packed(&text.unwrap_or_default()).remove(name))
}

/// Sets or removes a reference, under the lock that git uses.
pub(super) fn set(repository: &Path, name: &str, value: Option<&str>) -> io::Result<()> {
    let loose = repository.join(name);
    if let Some(value) = value {
        clear_way(repository, &loose)?;
        return locked(&loose, &format!("{value}\n"));
    }
    let packed_refs = repository.join("packed-refs");
    let text = if_exists(fs::read_to_string(&packed_refs))?.unwrap_or_default();
    if packed(&text).contains_key(name) {
        locked(&packed_refs, &without(&text, &|other| other == name))?;
    }
    if_exists(fs::remove_file(&loose))?;
    Ok(())
}

/// Writes a file of a repository under the lock that git uses.
pub(super) fn locked(path: &Path, text: &str) -> io::Result<()> {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let lock = Path::new(&lock);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(lock)?;
    let written = io::Write::write_all(&mut file, text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(lock, path));
    if written.is_err() {
        let _ = fs::remove_file(lock);
    }
    written
}

/// Removes empty directories that have the name of a reference, as git leaves them.
fn clear_way(repository: &Path, loose: &Path) -> io::Result<()> {
    let mut directories = vec![loose.to_owned()];
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        if !directory.is_dir() || directory == repository {
            continue;
        }
        for entry in fs::read_dir(&directory)? {
            directories.push(entry?.path());
        }
        found.push(directory);
    }
    // Fails if one has a reference.
    found.into_iter().rev().try_for_each(fs::remove_dir)
}

/// Returns true if the repository has the object that a value names. A value that names a reference
/// needs none.
pub(super) fn has_object(objects: &Path, value: &str) -> bool {
    let is_name = value.len() >= 40 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name {
        return true;
    }
    let (start, rest) = value.split_at(2);
    if objects.join(start).join(rest).is_file() || objects.join("info/alternates").is_file() {
        return true;
    }
    let name: Vec<u8> = (0..value.len())
        .step_by(2)
        .filter_map(|at| u8::from_str_radix(value.get(at..at + 2)?, 16).ok())
        .collect();
    let packs = fs::read_dir(objects.join("pack")).into_iter().flatten().flatten();
    let indexes =
        packs.map(|entry| entry.path()).filter(|path| path.extension() == Some("idx".as_ref()));
    indexes.into_iter().any(|index| fs::read(index).is_ok_and(|index| is_indexed(&index, &name)))
}

/// Returns true if the index of a pack (version 2) has an object.
fn is_indexed(index: &[u8], name: &[u8]) -> bool {
    let number = |at: usize| {
        let bytes = index.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    };
    let first = usize::from(name.first().copied().unwrap_or_default());
    let entry = |at: usize| index.get(8 + 1024 + at * name.len()..8 + 1024 + (at + 1) * name.len());
    let range = || {
        let from = if first == 0 { 0 } else { number(8 + (first - 1) * 4)? };
        Some(from..number(8 + first * 4)?)
    };
    index.starts_with(b"\xfftOc") && range().into_iter().flatten().any(|at| entry(at) == Some(name))
}

/// Returns the log that has everything of `wanted`, and what was added to `expected` since. `None`
/// if `now` does not continue `expected`.
pub(super) fn merged_log(expected: &str, wanted: &str, now: &str) -> Option<String> {
    let added = now.strip_prefix(expected)?;
    // Each line begins with the value before, which is the one that the line before sets.
    let value = |line: &str| line.split(' ').nth(1).map(str::to_owned);
    let last = wanted.lines().next_back().and_then(value);
    match added.split_once(' ') {
        Some((before, rest)) => {
            let last = last.unwrap_or_else(|| "0".repeat(before.len()));
            Some(format!("{wanted}{last} {rest}"))
        }
        None => Some(format!("{wanted}{added}")),
    }
}

/// Returns the entries of an index file: modes, objects, flags and paths, without times. `None` for
/// a format that is not read.
pub(super) fn index_entries(index: &[u8]) -> Option<Vec<&[u8]>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let is_read = index.starts_with(b"DIRC") && matches!(number(4)?, 2 | 3);
    let count = number(8).filter(|_| is_read)?;
    let (mut at, mut entries) = (12, Vec::new());
    for _ in 0..count {
        // Times and numbers of the file take 24 bytes, then follow the mode, the owner, the size.
        entries.push(index.get(at + 24..at + 28)?);
        let flags = u16::from_be_bytes(index.get(at + 60..at + 62)?.try_into().ok()?);
        let path = at + if flags & 0x4000 == 0 { 62 } else { 64 };
        let length = index.get(path..)?.iter().position(|byte| *byte == 0)?;
        entries.push(index.get(at + 40..path + length)?);
        at += (path + length - at) / 8 * 8 + 8;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKED: &str =
        "# pack-refs with: peeled\naa refs/heads/a\nbb refs/tags/t\n^cc\ndd refs/heads/b\n";

    #[test]
    fn packed_references_are_read_and_removed() {
        let names: Vec<String> = packed(PACKED).into_keys().collect();
        assert_eq!(names, ["refs/heads/a", "refs/heads/b", "refs/tags/t"]);
        let left = without(PACKED, &|name| name == "refs/tags/t");
        assert_eq!(left, "# pack-refs with: peeled\naa refs/heads/a\ndd refs/heads/b\n");
    }

    #[test]
    fn logs_keep_what_was_added() {
        let cases = [
            ("0 1 x\n", "0 1 x\n1 2 y\n", "0 1 x\n1 3 z\n", Some("0 1 x\n1 2 y\n2 3 z\n")),
            ("", "0 1 x\n", "0 3 z\n3 4 a\n", Some("0 1 x\n1 3 z\n3 4 a\n")),
            ("0 1 x\n", "", "0 1 x\n1 2 y\n", Some("0 2 y\n")),
            ("0 1 x\n", "0 1 x\n1 2 y\n", "0 1 x\n", Some("0 1 x\n1 2 y\n")),
            ("0 1 x\n", "0 1 x\n1 2 y\n", "0 3 z\n", None),
        ];
        for (expected, wanted, now, merged) in cases {
            assert_eq!(merged_log(expected, wanted, now).as_deref(), merged, "{now}");
        }
    }

    #[test]
    fn broken_files_are_no_index() {
        assert_eq!(index_entries(b"DIRC\0\0\0\x02\0\0\0\x05"), None);
        assert!(!is_indexed(b"\xfftOc", &[1; 20]));
    }
}
