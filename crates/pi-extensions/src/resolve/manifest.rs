//! The parts of `package.json` that decide where a module is.

use std::path::{Path, PathBuf};

use pi_base::text::without_mark;
use serde_json::{Map, Value};

/// A `package.json`.
#[derive(Debug)]
pub(super) struct Manifest(Map<String, Value>);

impl Manifest {
    /// Reads the manifest of a directory; `None` if it has none that can be read.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(directory.join("package.json")).ok()?;
        let text = without_mark(&text);
        serde_json::from_str(text).ok().map(Self)
    }

    /// Returns the package that a directory belongs to.
    pub(super) fn enclosing(directory: &Path) -> Option<(PathBuf, Self)> {
        for ancestor in directory.ancestors() {
            if ancestor.file_name().is_some_and(|name| name == "node_modules") {
                return None;
            }
            if let Some(manifest) = Self::read(ancestor) {
                return Some((ancestor.to_owned(), manifest));
            }
        }
        None
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.0.get("name")?.as_str()
    }

    pub(super) fn main(&self) -> Option<String> {
        let main = self.0.get("main")?.as_str()?;
        (!main.is_empty()).then(|| main.to_owned())
    }

    pub(super) fn exports(&self) -> Option<&Value> {
        self.0.get("exports").filter(|exports| !exports.is_null())
    }

    pub(super) fn imports(&self) -> Option<&Value> {
        self.0.get("imports").filter(|imports| imports.is_object())
    }
}
