//! Finding extension files, by the rules of the TypeScript pi: one level of TypeScript and
//! JavaScript files, and subdirectories that are packages, have an index file, or the manifest of a
//! program.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::scan::Scan;

/// Returns the extensions in a directory of extensions.
pub(super) fn extension_files(directory: &Path) -> Vec<PathBuf> {
    let (entries, _) = Scan::default().enter(directory);
    let mut files = Vec::new();
    for entry in entries {
        if entry.is_directory {
            files.extend(entry_points(&entry.path));
        } else if is_script(&entry.name) {
            files.push(entry.path);
        }
    }
    files
}

/// Returns the extensions of a directory that a setting names: an extension, or several.
pub fn named_extensions(directory: &Path) -> Vec<PathBuf> {
    let own = entry_points(directory);
    if own.is_empty() { extension_files(directory) } else { own }
}

/// Returns the files of an extension that is a directory.
fn entry_points(directory: &Path) -> Vec<PathBuf> {
    let manifest = std::fs::read(directory.join("package.json")).ok();
    let manifest = manifest.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let listed = manifest.as_ref().and_then(|package| package["pi"]["extensions"].as_array());
    if let Some(listed) = listed {
        let paths = listed.iter().filter_map(Value::as_str).map(|path| directory.join(path));
        return paths.filter(|path| path.exists()).collect();
    }
    let index = ["index.ts", "index.js", "extension.json"].map(|name| directory.join(name));
    index.into_iter().find(|path| path.is_file()).into_iter().collect()
}

fn is_script(name: &str) -> bool {
    name.ends_with(".ts") || name.ends_with(".js")
}
