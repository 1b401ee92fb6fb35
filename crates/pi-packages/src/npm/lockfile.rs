//! `package-lock.json` in version 3, the format of npm 7 and later.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pi_fs::if_exists;
use serde_json::{Map, Value, json};

use super::manifest::Manifest;
use crate::PackageError;

/// The packages of a lock file by their place, such as `node_modules/a/node_modules/b`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Lockfile {
    pub(crate) packages: BTreeMap<String, Manifest>,
}

impl Lockfile {
    /// Reads a lock file. A file that does not exist is empty, and so is one of an older version,
    /// which does not say where packages are.
    pub(crate) fn read(path: &Path) -> Result<Self, PackageError> {
        let bytes = if_exists(fs::read(path)).map_err(PackageError::file(path))?;
        let Some(bytes) = bytes else { return Ok(Self::default()) };
        let damaged = |problem: String| PackageError::Damaged { path: path.to_owned(), problem };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let mut packages = BTreeMap::new();
        for (place, entry) in value["packages"].as_object().into_iter().flatten() {
            let Some(name) = name_of(place) else { continue };
            // Links lead to directories of the repository; bundled packages come with another.
            let is_own = |key: &str| entry[key].as_bool() != Some(true);
            if is_own("link") && is_own("inBundle") && is_own("dev") {
                packages.insert(place.clone(), Manifest::from_lock(name, entry));
            }
        }
        Ok(Self { packages })
    }

    /// Returns the package that a module in `place` finds under a name, and the place of the
    /// package that contains it.
    pub(crate) fn find<'p>(&self, place: &'p str, name: &str) -> Option<(&'p str, &Manifest)> {
        let mut place = place;
        loop {
            if let Some(found) = self.packages.get(&join(place, name)) {
                return Some((place, found));
            }
            if place.is_empty() {
                return None;
            }
            place = parent(place);
        }
    }
}

/// Returns the text of a lock file. `root` is the entry of the root; `None` for the hidden file in
/// `node_modules`, which has none.
pub(crate) fn text(
    name: &str,
    root: Option<Map<String, Value>>,
    packages: &BTreeMap<String, Value>,
) -> String {
    let mut entries = Map::new();
    if let Some(root) = root {
        entries.insert(String::new(), root.into());
    }
    entries.extend(packages.iter().map(|(place, entry)| (place.clone(), entry.clone())));
    let lock = json!({
        "name": name, "lockfileVersion": 3, "requires": true, "packages": entries,
    });
    format!("{lock:#}\n")
}

/// Returns the place of a package below another one.
pub(crate) fn join(place: &str, name: &str) -> String {
    if place.is_empty() {
        format!("node_modules/{name}")
    } else {
        format!("{place}/node_modules/{name}")
    }
}

/// Returns the place of the package that contains this one; empty for the root.
pub(crate) fn parent(place: &str) -> &str {
    place.rfind("/node_modules/").map_or("", |at| &place[..at])
}

/// Returns the name of the directory of a package.
fn name_of(place: &str) -> Option<&str> {
    let name = match place.rfind("node_modules/") {
        Some(at) => &place[at + "node_modules/".len()..],
        None => return None,
    };
    let is_safe = place.split('/').all(|part| !matches!(part, "" | "." | ".."));
    (is_safe && pi_config::resources::is_npm_name(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_as_modules_are() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("package-lock.json");
        let lock = json!({"lockfileVersion": 3, "packages": {
            "": {"name": "root"},
            "node_modules/a": {"version": "1.0.0"},
            "node_modules/@s/b": {"version": "1.0.0"},
            "node_modules/@s/b/node_modules/a": {"version": "2.0.0"},
            "node_modules/linked": {"link": true},
            "node_modules/../../x": {"version": "1.0.0"},
            "packages/x": {"version": "1.0.0"},
        }});
        fs::write(&path, lock.to_string()).unwrap();
        let lock = Lockfile::read(&path).unwrap();
        assert_eq!(lock.packages.len(), 3);
        let find = |place: &str, name: &str| Some(lock.find(place, name)?.1.version.as_str());
        assert_eq!(find("", "a"), Some("1.0.0"));
        assert_eq!(find("node_modules/@s/b", "a"), Some("2.0.0"));
        assert_eq!(find("node_modules/@s/b", "@s/b"), Some("1.0.0"));
        assert_eq!(find("node_modules/@s/b", "none"), None);
        assert_eq!(Lockfile::read(&directory.path().join("none")).unwrap(), Lockfile::default());
        fs::write(&path, "{").unwrap();
        assert!(matches!(Lockfile::read(&path), Err(PackageError::Damaged { .. })));
    }
}
