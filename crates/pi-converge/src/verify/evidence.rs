//! What decides the checks, as watching them shows: the programs that they run, the files that they
//! read, and those for which they look without finding them. Pure, apart from looking for packages.
//!
//! The first checks run before the agent starts, so what they use is known from commands that no
//! change of the agent could reach.

use std::collections::BTreeSet;
use std::path::Path;

use pi_coding_agent::Trace;
use serde::{Deserialize, Serialize};

use super::baseline::{Tampered, is_cache};
use super::inputs::{Role, Roles, is_source, is_test};
use crate::report::{CheckReport, Concern};
use crate::workspace::ChangedFile;

/// What the commands used before the agent started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Used {
    /// Files of the room that were read, and directories that were listed.
    pub(super) read: BTreeSet<String>,
    /// Programs and scripts of the room that the commands ran.
    pub(super) executed: BTreeSet<String>,
    /// Those of them that a command names.
    pub(super) named: BTreeSet<String>,
    /// Paths that did not exist, except for those that a command or its output names: a check that
    /// fails because it misses a file asks for it.
    pub(super) missing: BTreeSet<String>,
    /// Paths that were looked for, and found or not.
    pub(super) looked_for: BTreeSet<String>,
    /// Python modules that were read from outside of the room.
    pub(super) modules: BTreeSet<String>,
    /// The reason why the commands were not watched.
    pub(super) problem: Option<String>,
}

impl Used {
    /// Derives it from a trace of the checks with the work of the run.
    pub(super) fn last(trace: Trace) -> Self {
        let Trace { read, executed, missing, mut looked_at, problem, .. } = trace;
        looked_at.extend(missing);
        Self { read, executed, looked_for: looked_at, problem, ..Self::default() }
    }

    /// Adds what the checks used in another room.
    pub(super) fn add(&mut self, other: Self) {
        self.read.extend(other.read);
        self.executed.extend(other.executed);
        self.looked_for.extend(other.looked_for);
        self.problem = self.problem.take().or(other.problem);
    }

    /// Derives it from the trace and the results of the commands before the agent started.
    pub(super) fn first(trace: Trace, commands: &[&str], reports: &[CheckReport]) -> Self {
        let (missing, modules) = (trace.missing.clone(), trace.outside.clone());
        let used = Self::last(trace);
        let failed = reports.iter().filter(|report| !report.passed);
        let mut texts: Vec<&str> = failed.filter_map(|report| report.output.as_deref()).collect();
        texts.extend(commands);
        let is_asked_for = |path: &str| names_of(path).any(|name| mentions(&texts, name));
        let is_named = |path: &&String| commands.iter().any(|command| runs(command, path));
        Self {
            named: used.executed.iter().filter(is_named).cloned().collect(),
            missing: missing.into_iter().filter(|path| !is_asked_for(path)).collect(),
            modules: modules.iter().filter_map(|path| python_module(path)).collect(),
            ..used
        }
    }

    /// Returns the changes of files that decide the checks, as far as names do not say it.
    /// `last` is what the checks used with all changes, in `room`.
    pub(super) fn tampered(
        &self,
        files: &[ChangedFile],
        roles: &Roles,
        last: &Self,
        room: &Path,
    ) -> Vec<Tampered> {
        let mut tampered = Vec::new();
        for ChangedFile { report: file, .. } in files {
            let path = file.path.as_str();
            let known = roles.of(path);
            if is_cache(path) || roles.is_permitted(path) {
                continue;
            }
            let (change, role) = match file.change.as_str() {
                "added" if matches!(known, None | Some(Role::Test)) => {
                    ("added", self.role_of_added(path, last, room))
                }
                "changed" if known.is_none() => ("changed", self.role_of_existing(path, last)),
                "removed" if known.is_none() => ("removed", self.role_of_existing(path, last)),
                _ => continue,
            };
            tampered.extend(role.map(|role| Tampered::new(path, role, change)));
        }
        tampered
    }

    fn role_of_existing(&self, path: &str, last: &Self) -> Option<Role> {
        if self.named.contains(path) {
            return Some(Role::Verifier);
        }
        let is_run = self.executed.contains(path) || last.executed.contains(path);
        let is_foreign = is_foreign(path) && (self.reads(path) || last.reads(path));
        (is_run || is_foreign || self.is_compared(path, last)).then_some(Role::Test)
    }

    /// Returns true for data that checks read beside the code of the project: results to compare
    /// with, most likely. Data that is read alone is the work itself.
    fn is_compared(&self, path: &str, last: &Self) -> bool {
        let is_code = |path: &&String| {
            is_source(path) && !self.executed.contains(*path) && !last.executed.contains(*path)
        };
        !is_source(path)
            && !is_derived(path)
            && (self.read.contains(path) || last.read.contains(path))
            && (self.read.iter().any(|path| is_code(&path))
                || last.read.iter().any(|path| is_code(&path)))
    }

    fn role_of_added(&self, path: &str, last: &Self, room: &Path) -> Option<Role> {
        let mut above = Path::new(path).ancestors().filter_map(Path::to_str);
        let was_missed = above.any(|above| self.missing.contains(above));
        let shadows =
            || python_module(&room.join(path)).is_some_and(|module| self.modules.contains(&module));
        // Some tools list a directory instead of looking for the name.
        let is_found = last.reads(path)
            && (self.read.contains(directory_of(path)) && is_configuration(path)
                || takes_place_of_module(path, room));
        (was_missed || is_found || shadows()).then_some(Role::Added)
    }

    /// Returns a remark if the checks use nothing that the run made, and the run removed files that
    /// they used: they may pass because there is less to check.
    pub(super) fn removed(
        &self,
        files: &[ChangedFile],
        roles: &Roles,
        tampered: &[Tampered],
        last: &Self,
    ) -> Vec<Concern> {
        let paths = |is_removed: bool| {
            let files = files.iter().map(|file| &file.report);
            let files = files.filter(move |file| (file.change == "removed") == is_removed);
            files.map(|file| file.path.as_str())
        };
        let is_decided = |path: &str| tampered.iter().any(|one| one.path == path);
        if last.problem.is_some() || paths(false).any(|path| last.reads(path) && !is_decided(path))
        {
            return Vec::new();
        }
        let is_missed = |path: &&str| self.reads(path) && !roles.is_permitted(path);
        let reason = "the checks read this file before the run, and pass without it";
        let concern = |path: &str| Concern::new(Some(path.to_owned()), reason);
        paths(true).filter(is_missed).map(concern).collect()
    }

    /// Returns a remark if nothing was watched.
    pub(super) fn note(&self) -> Option<String> {
        let problem = self.problem.as_ref()?;
        Some(format!(
            "what the checks use is known by names alone, as they cannot be watched: {problem}"
        ))
    }

    /// Returns true if commands read or ran a file.
    pub(super) fn reads(&self, path: &str) -> bool {
        self.read.contains(path) || self.executed.contains(path)
    }

    /// Returns true if commands used a path, or listed its directory.
    pub(super) fn has(&self, path: &str) -> bool {
        self.reads(path) || self.looked_for.contains(path) || self.read.contains(directory_of(path))
    }
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns true for code of others in the repository: a test may use it to compare results.
fn is_foreign(path: &str) -> bool {
    const DIRECTORIES: &[&str] =
        &["node_modules", "site-packages", "vendor", "vendored", "_vendor", "third_party"];
    path.split('/').any(|part| DIRECTORIES.contains(&part))
}

/// Returns true for the usual names of configuration.
fn is_configuration(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extensions = ["toml", "ini", "cfg", "conf", "rc"];
    let has_extension =
        name.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension));
    !is_source(path) && (name.starts_with('.') || has_extension)
}

/// Returns true for a package or for declarations that Python and its type checkers read in place of
/// a module of the project, which is still there.
fn takes_place_of_module(path: &str, room: &Path) -> bool {
    let package = |path: &str| path.strip_suffix("/__init__").map(str::to_owned);
    let (stem, is_stub) = match path.rsplit_once('.') {
        Some((stem, "pyi")) => (package(stem).unwrap_or_else(|| stem.to_owned()), true),
        Some((stem, "py")) => (package(stem).unwrap_or_else(|| stem.to_owned()), false),
        _ => return false,
    };
    let module = format!("{stem}.py");
    (is_stub || module != path) && room.join(module).is_file()
}

/// Combines what several parts of the runtime know about changed files: each once, with the greater
/// role.
pub(super) fn merge(tampered: &mut Vec<Tampered>, further: Vec<Tampered>) {
    for one in further {
        match tampered.iter_mut().find(|known| known.path == one.path) {
            Some(known) => known.role = known.role.max(one.role),
            None => tampered.push(one),
        }
    }
}

/// Returns the sources that the commands used before the agent started, and not any more although
/// they are still there: a test that is not collected, a module that is not compiled.
pub(super) fn unread(
    used: &Used,
    last: &Used,
    changed: &BTreeSet<&str>,
    room: &Path,
) -> Vec<Concern> {
    let is_compiled = |path: &str| path.ends_with(".rs");
    let compiles =
        last.read.iter().any(|path| is_compiled(path) && changed.contains(path.as_str()));
    let is_unread = |path: &&String| {
        // An interpreter with compiled code looks at a source without reading it.
        let must_be_read = is_test(path) || is_compiled(path) && compiles;
        is_source(path)
            && !last.reads(path)
            && (must_be_read || !last.looked_for.contains(*path))
            // The change of a test is decided elsewhere.
            && !(is_test(path) && changed.contains(path.as_str()))
            && room.join(path).is_file()
    };
    let reason = "the checks read this file before the run, and do not read it any more";
    let unread = used.read.iter().filter(is_unread);
    unread.map(|path| Concern::new(Some(path.clone()), reason)).collect()
}

/// Returns true for a file that a tool derives from others.
fn is_derived(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.ends_with(".lock") || name.ends_with("-lock.json") || name.ends_with("-lock.yaml")
}

/// Returns the names by which a message or a command may speak of a path.
fn names_of(path: &str) -> impl Iterator<Item = &str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    [path, name, stem].into_iter().filter(|name| name.len() >= 2)
}

/// Returns true if a text has a name as a word.
fn mentions(texts: &[&str], name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    texts.iter().any(|text| {
        text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    })
}

/// Returns true if a command names a file that it runs, by its path or as a module.
fn runs(command: &str, path: &str) -> bool {
    let is_separator = |c: char| c.is_whitespace() || ";|&()<>{}\"'`=,$".contains(c);
    command.split(is_separator).filter(|word| !word.is_empty()).any(|word| {
        let word = word.strip_prefix("./").unwrap_or(word);
        let module = word.replace('.', "/");
        let ends = |end: &str| {
            path.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('/'))
        };
        ends(word) || ends(&format!("{module}.py")) || ends(&format!("{module}/__main__.py"))
    })
}

/// Returns the name of the module of highest level that a Python file belongs to.
fn python_module(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?;
    if !["py", "pyc", "so"].contains(&extension) {
        return None;
    }
    let mut directory = path.parent()?;
    if directory.file_name().is_some_and(|name| name == "__pycache__") {
        directory = directory.parent()?;
    }
    let mut module = path.file_name()?.to_str()?;
    while directory.join("__init__.py").is_file() {
        module = directory.file_name()?.to_str()?;
        directory = directory.parent()?;
    }
    let name = module.split_once('.').map_or(module, |(name, _)| name);
    (name != "__init__" && name != "__main__").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_messages_name_files() {
        let cases = [
            ("./bench --minimum 2.0", "bench", true),
            ("python3 scripts/run.py", "scripts/run.py", true),
            ("cd sub && ./run.sh", "sub/run.sh", true),
            ("python3 -m tools.accept", "tools/accept.py", true),
            ("python3 -m tools", "tools/__main__.py", true),
            ("make check", "scripts/check.sh", false),
            ("./bench", "workbench", false),
        ];
        for (command, path, expected) in cases {
            assert_eq!(runs(command, path), expected, "{command}: {path}");
        }
        let output = ["No module named 'lexer' in app_test.py"];
        for (path, expected) in [("src/lexer.py", true), ("app.py", false), ("lex.py", false)] {
            assert_eq!(names_of(path).any(|name| mentions(&output, name)), expected, "{path}");
        }
    }

    #[test]
    fn modules_are_known_by_their_highest_package() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        std::fs::create_dir_all(at("pkg/inner/__pycache__")).unwrap();
        for file in ["pkg/__init__.py", "pkg/inner/__init__.py"] {
            std::fs::write(at(file), "").unwrap();
        }
        let cases = [
            ("json.py", Some("json")),
            ("__pycache__/json.cpython-311.pyc", Some("json")),
            ("pkg/a.py", Some("pkg")),
            ("pkg/__init__.py", Some("pkg")),
            ("pkg/inner/__pycache__/b.cpython-311.pyc", Some("pkg")),
            ("_x.cpython-311-x86_64-linux-gnu.so", Some("_x")),
            ("json.txt", None),
        ];
        for (path, expected) in cases {
            assert_eq!(python_module(&at(path)).as_deref(), expected, "{path}");
        }
    }
}
