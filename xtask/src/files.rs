//! The source files of a checkout, and the parts of them that are tests.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Directories with files that were recorded, generated or written elsewhere.
const SKIPPED: &[&str] = &["target", "corpus", "artifacts", "fixtures", "snapshots", "data"];

/// A file or directory that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub(crate) struct ReadError {
    path: String,
    source: io::Error,
}

/// A text file of the repository.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// From the root of the repository, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl SourceFile {
    /// The lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line))
    }

    /// The lines that are neither in a file of tests nor in a test module.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests = if self.is_test() { 1..usize::MAX } else { self.test_module() };
        self.lines().filter(move |(number, _)| !tests.contains(number))
    }

    /// Returns true if the file contains only tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.split('/').any(|part| part == "tests")
    }

    /// Returns true for Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Returns true for Rust source of a crate that is not an integration test.
    pub(crate) fn is_source(&self) -> bool {
        self.is_rust() && self.path.contains("/src/")
    }

    /// The lines of `#[cfg(test)] mod tests { ... }`. rustfmt guarantees that it ends with the
    /// first line that is only a closing brace.
    fn test_module(&self) -> Range<usize> {
        let mut after_attribute = false;
        let mut start = None;
        for (number, line) in self.lines() {
            match start {
                Some(start) if line == "}" => return start..number + 1,
                Some(_) => {}
                None if after_attribute && line == "mod tests {" => start = Some(number - 1),
                None => after_attribute = line == "#[cfg(test)]",
            }
        }
        start.map_or(0..0, |start| start..usize::MAX)
    }
}

/// Reads every file below `root` with one of the extensions, sorted by path.
pub(crate) fn load(root: &Path, extensions: &[&str]) -> Result<Vec<SourceFile>, ReadError> {
    let mut files = Vec::new();
    visit(root, "", extensions, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn visit(
    directory: &Path,
    prefix: &str,
    extensions: &[&str],
    files: &mut Vec<SourceFile>,
) -> Result<(), ReadError> {
    let failed = |path: &str| {
        let path = path.to_owned();
        move |source| ReadError { path, source }
    };
    for entry in directory.read_dir().map_err(failed(prefix))? {
        let entry = entry.map_err(failed(prefix))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type().map_err(failed(&path))?.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                visit(&entry.path(), &format!("{path}/"), extensions, files)?;
            }
        } else if extensions.iter().any(|extension| name.ends_with(&format!(".{extension}"))) {
            let text = fs::read_to_string(entry.path()).map_err(failed(&path))?;
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}

/// Creates a file for the tests of the checks.
#[cfg(test)]
pub(crate) fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_has_files() {
        let files = load(&crate::repository::root(), &["rs", "toml", "lock"]).unwrap();
        for path in
            ["Cargo.toml", "Cargo.lock", "xtask/src/tidy.rs", "crates/pi-ai/tests/it/main.rs"]
        {
            assert!(files.iter().any(|file| file.path == path), "{path} was not found");
        }
        assert!(!files.iter().any(|file| file.path.contains("fixtures/")));
    }

    #[test]
    fn test_modules_are_excluded_from_product_lines() {
        let text = "a\n#[cfg(test)]\nmod tests {\n    }\n}\nb\n";
        let kept = |path: &str, text: &str| {
            file(path, text).product_lines().map(|(number, _)| number).collect::<Vec<_>>()
        };
        assert_eq!(kept("crates/x/src/a.rs", text), [1, 6]);
        assert_eq!(kept("crates/x/src/a.rs", "a\n#[cfg(test)]\nmod tests;\n"), [1, 2, 3]);
        assert_eq!(kept("crates/x/src/a.rs", "#[cfg(test)]\nmod tests {\n"), [] as [usize; 0]);
        assert_eq!(kept("crates/x/src/a/tests.rs", "a\n"), [] as [usize; 0]);
        assert_eq!(kept("crates/x/tests/it/a.rs", "a\n"), [] as [usize; 0]);
    }
}
