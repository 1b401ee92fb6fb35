//! The records of all files, in one small file that is replaced as a whole.
//!
//! The first line holds the version and a digest of the rest. A catalog that is of another version,
//! of another directory or damaged is ignored.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use pi_fs::{Access, NewFile};
use serde::{Deserialize, Serialize};

use super::record::{Record, digest};

/// The version. Change it whenever the format of the files or the set of searchable texts changes.
const MAGIC: &str = "pi-session-index 2";

/// The records of files, by their path below the directory. The keys are not `Path`s, since every
/// comparison splits those into components.
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

/// Replaces the catalog.
pub(super) fn write(path: &Path, root: &Path, records: &Records) -> Option<()> {
    // A file whose path is not Unicode is read again each time.
    let records = records.iter();
    let records = records.filter_map(|(path, record)| Some((path.to_str()?, record)));
    let catalog = Catalog { root: root.to_str()?, records: records.collect::<Vec<_>>() };
    let json = serde_json::to_vec(&catalog).ok()?;
    let mut file = NewFile::create(path, Access::Private).ok()?;
    writeln!(file, "{}", first_line(&json)).ok()?;
    file.write_all(&json).ok()?;
    file.finish().ok()
}

fn first_line(json: &[u8]) -> String {
    format!("{MAGIC} {:016x}", digest(json))
}
