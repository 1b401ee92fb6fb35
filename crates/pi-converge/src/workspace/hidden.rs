//! Files that a run added and hid by a change of what git ignores.
//!
//! Checkpoints leave out ignored files, so a new line in `.gitignore` could hide a new file from the
//! rules of a contract. The files are judged by the ignore rules of the start instead.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules about ignored files at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IgnoreRules {
    /// Contents of ignore files by the path of their directory; empty for the workspace.
    pub(super) files: BTreeMap<String, String>,
    /// Content of `.git/info/exclude`.
    pub(super) exclude: String,
}

/// Returns true for the name of a file with ignore rules.
pub(super) fn is_ignore_file(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some(".gitignore" | ".ignore"))
}

/// Returns the files that are ignored now, were not `known`, and would not have been ignored at the
/// start.
pub(super) fn hidden_files(
    root: &Path,
    rules: &IgnoreRules,
    known: &BTreeSet<&str>,
) -> Vec<String> {
    let rules = compile(root, rules);
    let is_ignored = |path: &Path, is_directory: bool| {
        rules.iter().any(|rules| {
            path.starts_with(rules.path())
                && rules.matched_path_or_any_parents(path, is_directory).is_ignore()
        })
    };
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(false).filter_entry(|entry| entry.file_name() != ".git");
    let mut hidden = Vec::new();
    for entry in builder.build().flatten() {
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else {
            continue;
        };
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !is_directory && !known.contains(path) && !is_ignored(entry.path(), false) {
            hidden.push(path.to_owned());
        }
    }
    hidden.sort();
    hidden
}

fn compile(root: &Path, rules: &IgnoreRules) -> Vec<Gitignore> {
    let exclude = ("", rules.exclude.as_str());
    let files = rules.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let build = |(path, text): (&str, &str)| {
        let mut builder = GitignoreBuilder::new(root.join(path));
        for line in text.lines() {
            // A line that is not valid ignores nothing, as for git.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok()
    };
    files.chain([exclude]).filter_map(build).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_new_rules_hide_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in
            ["target/a.o", "sub/build/b", "local/c", "evil.sh", "sub/evil", ".git/x", "known"]
        {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        let files = [("", "target/\n"), ("sub", "/build\n")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let rules = IgnoreRules { files: files.into(), exclude: "local\n".to_owned() };
        let known = BTreeSet::from(["known"]);
        assert_eq!(hidden_files(root, &rules, &known), ["evil.sh", "sub/evil"]);
    }
}
