//! The records of all files, in one small file that is replaced as a whole.
//!
//! A first line says what it is and what the rest amounts to. A catalog that is of another
//! version, about other sessions or damaged is no catalog.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::record::{Record, digest};

/// To be changed with anything that changes what is in the files, or what is searchable.
const MAGIC: &str = "pi-session-index 1";

/// What is known about files, by their path from the directory on. Not by `Path`s, which are taken
/// apart whenever they are compared.
pub(super) type Records = HashMap<OsString, Record>;

#[derive(Serialize, Deserialize)]
struct Catalog<Root, Records> {
    root: Root,
    records: Records,
}

/// Reads the catalog of the files below `root`.
pub(super) fn read(path: &Path, root: &Path) -> Option<Records> {
    let bytes = std::fs::read(path).ok()?;
    let end = memchr::memchr(b'\n', &bytes)?;
    let (first, json) = (&bytes[..end], &bytes[end + 1..]);
    if first != first_line(json).as_bytes() {
        return None;
    }
    let catalog: Catalog<PathBuf, Vec<(String, Record)>> = serde_json::from_slice(json).ok()?;
    let records = catalog.records.into_iter().map(|(path, record)| (path.into(), record));
    (catalog.root == root).then(|| records.collect())
}

/// Puts a catalog in the place of the one that is there.
pub(super) fn write(path: &Path, root: &Path, records: &Records) -> Option<()> {
    // A path that is not text is looked at anew each time.
    let records = records.iter();
    let records = records.filter_map(|(path, record)| Some((path.to_str()?, record)));
    let catalog = Catalog { root: root.to_str()?, records: records.collect::<Vec<_>>() };
    let json = serde_json::to_vec(&catalog).ok()?;
    let mut file = tempfile::NamedTempFile::new_in(path.parent()?).ok()?;
    writeln!(file, "{}", first_line(&json)).ok()?;
    file.write_all(&json).ok()?;
    file.persist(path).ok().map(drop)
}

fn first_line(json: &[u8]) -> String {
    format!("{MAGIC} {:016x}", digest(json))
}
