//! Files that are no part of the workspace's own state, and are lost without a copy: small files
//! that git ignores, and the files of repositories, such as references and their logs.
//!
//! They are kept apart, because nothing but a restoration looks at them: no diff and no patch has an
//! ignored `.env`. Objects of repositories are not read; [`mirror`](super::mirror) keeps them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::CheckpointError;
use super::index::Index;
use super::name::{to_path, to_text};
use super::objects::Objects;
use super::scan::scan_path;
use super::state::FileState;

/// Maximum size of an ignored file whose content is stored.
const IGNORED_FILE: u64 = 1024 * 1024;
/// Maximum size of all ignored files whose content is stored.
const ALL_IGNORED: u64 = 32 * 1024 * 1024;
/// Most ignored files whose content is stored.
const MOST_IGNORED: usize = 2000;
/// Most entries of ignored directories that are looked at.
const MOST_LOOKED_AT: usize = 20_000;
/// Maximum size of a file of a repository whose content is stored.
const REPOSITORY_FILE: u64 = 64 * 1024 * 1024;
/// Directories of files that a tool can make again.
const CACHES: &str = "target node_modules bower_components __pycache__ venv .venv env .tox .nox \
    dist build out bin obj _build deps coverage htmlcov .nyc_output .cache .eggs .gradle .m2 .next \
    .nuxt .output .svelte-kit .angular .parcel-cache .turbo .vite .terraform .dart_tool .zig-cache \
    zig-out .stack-work dist-newstyle DerivedData Pods vendor .bundle .direnv .ipynb_checkpoints \
    .pytest_cache .mypy_cache .ruff_cache .hypothesis tmp temp logs cmake-build-debug \
    cmake-build-release bazel-bin bazel-out";
/// Names in a repository that other means cover, or that mean nothing later.
const LEFT_OUT: &str = "objects lfs annex rr-cache COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD gc.log gc.pid \
    fsmonitor--daemon fsmonitor--daemon.ipc";

/// The files beside the state of a workspace.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) files: BTreeMap<String, FileState>,
    /// Directories with objects, relative to the workspace.
    pub(super) objects: Vec<String>,
}

/// The scan of what is beside the covered paths.
struct Scan<'a> {
    root: &'a Path,
    index: &'a mut Index,
    store: Option<&'a Objects>,
    now: SystemTime,
    found: Beside,
    bytes: u64,
    ignored: usize,
    looked_at: usize,
}

/// Scans the files beside the covered paths.
pub(super) fn scan(
    root: &Path,
    covered: &BTreeMap<String, FileState>,
    index: &mut Index,
    store: Option<&Objects>,
) -> Result<Beside, CheckpointError> {
    let (now, found) = (SystemTime::now(), Beside::default());
    let (bytes, ignored, looked_at) = (0, 0, 0);
    let mut scan = Scan { root, index, store, now, found, bytes, ignored, looked_at };
    // Directories, and whether git ignores them.
    let mut open = vec![(String::new(), false)];
    while let Some((directory, is_ignored)) = open.pop() {
        for (name, kind) in entries(&root.join(to_path(&directory))) {
            let path = join(&directory, &name);
            let is_covered = covered.contains_key(&path);
            if is_ignored || !is_covered {
                scan.looked_at += 1;
            }
            if scan.looked_at > MOST_LOOKED_AT && !is_covered {
                continue;
            }
            match kind {
                Kind::Directory if name == ".git" => {
                    if root.join(to_path(&path)).join("HEAD").exists() {
                        scan.repository(&path)?;
                    }
                }
                Kind::Directory if is_covered => open.push((path, false)),
                Kind::Directory if !is_cache(&root.join(to_path(&path))) => open.push((path, true)),
                Kind::Directory => {}
                Kind::File if is_covered || name == ".git" => {}
                Kind::File => scan.ignored_file(path)?,
            }
        }
    }
    Ok(scan.found)
}

impl Scan<'_> {
    fn ignored_file(&mut self, path: String) -> Result<(), CheckpointError> {
        let file = self.root.join(to_path(&path));
        let Ok(metadata) = fs::symlink_metadata(&file) else { return Ok(()) };
        let size = metadata.len();
        let fits = size <= IGNORED_FILE
            && self.ignored < MOST_IGNORED
            && self.bytes.saturating_add(size) <= ALL_IGNORED;
        if fits {
            self.ignored += 1;
            self.bytes += size;
            self.add(path, IGNORED_FILE)?;
        }
        Ok(())
    }

    /// Adds the files of a repository, also those of its submodules and worktrees.
    fn repository(&mut self, path: &str) -> Result<(), CheckpointError> {
        let mut open = vec![path.to_owned()];
        while let Some(directory) = open.pop() {
            let absolute = self.root.join(to_path(&directory));
            if absolute.join("HEAD").exists() && absolute.join("config").exists() {
                self.found.objects.push(join(&directory, "objects"));
            }
            for (name, kind) in entries(&absolute) {
                let path = join(&directory, &name);
                let is_left_out = LEFT_OUT.split_ascii_whitespace().any(|known| known == name);
                if kind == Kind::Directory && (!is_left_out || directory.contains("/refs")) {
                    open.push(path);
                } else if kind == Kind::File && !is_left_out && !is_passing(&name) {
                    self.add(path, REPOSITORY_FILE)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, most: u64) -> Result<(), CheckpointError> {
        let file = self.root.join(to_path(&path));
        let Ok(metadata) = fs::symlink_metadata(&file) else { return Ok(()) };
        let (now, store) = (self.now, self.store);
        if let Some(item) = scan_path(&file, &path, &metadata, now, self.index, store, most)? {
            self.found.files.insert(path, item);
        }
        Ok(())
    }
}

/// Returns files at or below a path that no checkpoint covers although no tool can make them again:
/// ignored files that are too large or too many, outside of caches. At most a few are named.
pub fn uncovered(root: &Path, path: &Path, file_bytes: u64) -> Vec<PathBuf> {
    /// The most files that are returned.
    const MOST: usize = 100;
    let mut found = Vec::new();
    let Ok(inside) = path.strip_prefix(root) else { return found };
    let above = inside.ancestors().filter(|above| !above.as_os_str().is_empty());
    let Ok(metadata) = fs::symlink_metadata(path) else { return found };
    let mut ignored: Option<std::collections::HashSet<String>> = None;
    let mut is_ignored = |path: &Path| {
        let covered = ignored.get_or_insert_with(|| super::scan::covered(root).collect());
        let text = path.strip_prefix(root).ok().and_then(to_text);
        text.is_some_and(|text| !covered.contains(&text))
    };
    if above.into_iter().any(|above| {
        let above = root.join(above);
        above.is_dir() && is_cache(&above) && is_ignored(&above)
    }) {
        return found;
    }
    let (mut looked_at, mut bytes, mut count) = (0, 0, 0);
    let mut open = vec![(path.to_owned(), metadata)];
    while let Some((path, metadata)) = open.pop() {
        looked_at += 1;
        if found.len() >= MOST || looked_at > MOST_LOOKED_AT {
            break;
        }
        if metadata.is_dir() {
            let is_git = path.file_name().is_some_and(|name| name == ".git");
            if is_git || is_cache(&path) && is_ignored(&path) {
                continue;
            }
            for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                open.extend(entry.metadata().ok().map(|metadata| (entry.path(), metadata)));
            }
        } else if metadata.is_file() {
            let size = metadata.len();
            let is_small = size <= IGNORED_FILE;
            if is_small {
                (bytes, count) = (bytes + size, count + 1);
            }
            let may_fit = is_small && bytes <= ALL_IGNORED && count <= MOST_IGNORED;
            if size > file_bytes || !may_fit && is_ignored(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// Returns true for a directory of files that a tool can make again.
fn is_cache(directory: &Path) -> bool {
    const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    CACHES.split_ascii_whitespace().any(|known| known == name)
        || name.ends_with(".egg-info")
        || fs::read(directory.join("CACHEDIR.TAG")).is_ok_and(|tag| tag.starts_with(SIGNATURE))
}

/// Returns true for a file that exists for a moment, or that no one needs.
fn is_passing(name: &str) -> bool {
    name.ends_with(".lock") || name.ends_with(".sample") || name.starts_with("tmp_")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

/// Returns the entries of a directory in their order. What cannot be listed has none.
fn entries(directory: &Path) -> Vec<(String, Kind)> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut entries: Vec<(String, Kind)> = listed
        .filter_map(|entry| {
            let kind = if entry.file_type().ok()?.is_dir() { Kind::Directory } else { Kind::File };
            Some((to_text(Path::new(&entry.file_name()))?, kind))
        })
        .collect();
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    entries
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
