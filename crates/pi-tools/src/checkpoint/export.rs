//! Writing a state into an empty directory, which is not the workspace: for checks that must see
//! nothing else than that state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::CheckpointError;
use super::name::to_path;
use super::objects::Objects;
use super::restore::{link, set_file_mode, set_mode, time};
use super::state::FileState;

/// Writes files, directories and links into an empty directory. Times and modes are those of the
/// state. Returns the files whose content was not stored, which are left out. Nothing is written
/// through a link.
pub(super) fn export(
    objects: &Objects,
    items: &BTreeMap<String, FileState>,
    to: &Path,
) -> Result<Vec<String>, CheckpointError> {
    let mut left_out = Vec::new();
    let mut directories = Vec::new();
    let mut links: BTreeSet<&str> = BTreeSet::new();
    // A directory comes before what is in it, because its path is shorter.
    for (name, item) in items {
        let path = to.join(to_path(name));
        let failed = |action| CheckpointError::io(action, &path);
        let mut above = name.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            if links.contains(parent) {
                return Err(failed("create")(io::ErrorKind::NotADirectory.into()));
            }
            above = parent;
        }
        if let Some(parent) = path.parent()
            && !matches!(item, FileState::Directory { .. })
        {
            fs::create_dir_all(parent).map_err(failed("create"))?;
        }
        match item {
            FileState::Directory { mode } => {
                fs::create_dir_all(&path).map_err(failed("create"))?;
                directories.push((path, *mode));
            }
            FileState::Link { target } => {
                link(&to_path(target), &path).map_err(failed("create"))?;
                links.insert(name);
            }
            FileState::File { hash: None, .. } => left_out.push(name.clone()),
            FileState::File { hash: Some(hash), mode, modified, .. } => {
                let content = objects.read(hash)?;
                create(&path, &content, *mode, *modified).map_err(failed("write"))?;
            }
        }
    }
    // Last, because a read-only directory takes no more entries.
    for (path, mode) in directories.into_iter().rev() {
        set_mode(&path, mode).map_err(CheckpointError::io("change", &path))?;
    }
    Ok(left_out)
}

fn create(path: &Path, content: &[u8], mode: u32, modified: i64) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    set_file_mode(&file, mode)?;
    file.set_modified(time(modified))
}
