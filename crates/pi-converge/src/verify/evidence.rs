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
    /// Files of the room that the commands changed, and tests that they wrote.
    #[serde(skip)]
    pub(super) written: BTreeSet<String>,
    /// Ignored files that the first commands read, and that the room did not have.
    #[serde(skip)]
    pub(super) absent: BTreeSet<String>,
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
        self.written.extend(other.written);
        self.absent.extend(other.absent);
    }

    /// Derives it from the trace and the results of the commands before the agent started.
    pub(super) fn first(trace: Trace, commands: &[&str], reports: &[CheckReport]) -> Self {
        let (missing, modules) = (trace.missing.clone(), trace.outside.clone());
        let used = Self::last(trace);
        let failed = reports.iter().filter(|report| !report.passed);
        let mut texts: Vec<&str> = failed.filter_map(|report| report.output.as_deref()).collect();
        texts.extend(commands);
        let is_asked_for = |path: &str| {
            is_named(&texts, path)
                || commands.iter().any(|command| asks_for(command, path))
                || module_of(path).is_some_and(|module| {
                    // The name of the tool itself asks for nothing.
                    mentions(&texts, module) && !mentions(commands, module)
                })
        };
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
            // Packages in the repository are code of others; new ones are often a mere installation.
            let is_left_out = is_cache(path) && (file.change == "added" || !is_foreign(path));
            if is_left_out || roles.is_permitted(path) {
                continue;
            }
            let (change, role) = match file.change.as_str() {
                "added" if matches!(known, None | Some(Role::Test)) => {
                    ("added", self.role_of_added(path, last, room))
                }
                "changed" if known.is_none() => {
                    ("changed", self.role_of_existing(path, last, roles))
                }
                "removed" if known.is_none() => {
                    ("removed", self.role_of_existing(path, last, roles))
                }
                _ => continue,
            };
            tampered.extend(role.map(|role| Tampered::new(path, role, change)));
        }
        tampered
    }

    fn role_of_existing(&self, path: &str, last: &Self, roles: &Roles) -> Option<Role> {
        if self.named.contains(path) {
            return Some(Role::Verifier);
        }
        let is_run = self.executed.contains(path) || last.executed.contains(path);
        let is_foreign = is_foreign(path) && (self.reads(path) || last.reads(path));
        (is_run || is_foreign || self.is_compared(path, last, roles)).then_some(Role::Test)
    }

    /// Returns true for data that checks read beside the code of the project: results to compare
    /// with, most likely. Data that only the script of a check reads is the work itself.
    pub(super) fn is_compared(&self, path: &str, last: &Self, roles: &Roles) -> bool {
        let is_run = |path: &str| self.executed.contains(path) || last.executed.contains(path);
        let is_code =
            |path: &String| is_source(path) && !(is_run(path) && roles.is_script_of_a_check(path));
        !is_source(path)
            && !is_derived(path)
            && (self.read.contains(path) || last.read.contains(path))
            && (self.read.iter().any(is_code)
                || last.read.iter().any(is_code)
                || last.executed.iter().any(is_code))
    }

    fn role_of_added(&self, path: &str, last: &Self, room: &Path) -> Option<Role> {
        let mut above = Path::new(path).ancestors().filter_map(Path::to_str);
        let was_missed = above.any(|above| self.missing.contains(above));
        let shadows =
            || python_module(&room.join(path)).is_some_and(|module| self.modules.contains(&module));
        // Some tools list a directory instead of looking for the name, and some run only after
        // others have succeeded.
        let is_found =
            last.reads(path) && (is_configuration(path) || takes_place_of_module(path, room));
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
pub(super) fn is_configuration(path: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "toml",
        "ini",
        "cfg",
        "conf",
        "config",
        "rc",
        "json",
        "jsonc",
        "json5",
        "yaml",
        "yml",
        "xml",
        "props",
        "properties",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_data = !is_source(path) && EXTENSIONS.contains(&extension);
    let is_code = is_source(path) && stem.ends_with(".config");
    let has_no_extension = extension.is_empty() && name.ends_with("rc");
    !is_derived(path) && (name.starts_with('.') || is_data || is_code || has_no_extension)
}

/// Returns true for a file that a loader reads in place of a module of the project, which is still
/// there: a package, declarations, compiled code, or JavaScript beside TypeScript.
fn takes_place_of_module(path: &str, room: &Path) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let beside = |stem: &str, extension: &str| {
        room.join(directory).join(format!("{stem}.{extension}")).is_file()
    };
    match name.split_once('.') {
        Some((stem, rest)) if ["so", "pyd"].iter().any(|end| rest.ends_with(end)) => {
            return beside(stem, "py");
        }
        Some((stem, "js" | "mjs" | "cjs")) => {
            return ["ts", "tsx", "mts", "cts"].iter().any(|extension| beside(stem, extension));
        }
        _ => {}
    }
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

/// Returns the new files that failed checks name: a check that fails because it misses a file asks for
/// it, and one that fails for other reasons was configured by it.
pub(super) fn asked_for(later: &[Tampered], checks: &[CheckReport]) -> BTreeSet<String> {
    let failed = checks.iter().filter(|check| !check.passed);
    let texts: Vec<&str> = failed.filter_map(|check| check.output.as_deref()).collect();
    let is_asked_for = |one: &&Tampered| {
        one.change == "added" && is_configuration(&one.path) && is_named(&texts, &one.path)
    };
    later.iter().filter(is_asked_for).map(|one| one.path.clone()).collect()
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
        // Another file took its place.
        let has_double = || {
            let mut others = changed.iter().filter(|other| **other != path.as_str());
            others.any(|other| module_of(other) == module_of(path) && last.reads(other))
        };
        // An interpreter with compiled code looks at a source without reading it.
        let must_be_read = is_test(path) || is_compiled(path) && compiles || has_double();
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

/// Returns true if a text names a path, or its last part.
pub(super) fn is_named(texts: &[&str], path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [path, name].iter().any(|name| name.len() >= 2 && mentions(texts, name))
}

/// Returns the name of a source without its extension, by which messages speak of a module.
fn module_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, _) = name.rsplit_once('.').filter(|_| is_source(name))?;
    (stem.len() >= 2).then_some(stem)
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

/// Returns the words of a command.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| c.is_whitespace() || ";|&()<>{}\"'`=,$".contains(c);
    command.split(is_separator).filter(|word| !word.is_empty())
}

/// Returns true if a command names a file, by its path or as a module that it runs.
fn asks_for(command: &str, path: &str) -> bool {
    let has_path = words(command).any(|word| {
        let start = path.strip_suffix(word.strip_prefix("./").unwrap_or(word));
        start.is_some_and(|start| start.is_empty() || start.ends_with('/'))
    });
    has_path || words(command).any(|word| word == "-m") && runs(command, path)
}

/// Returns true if a command names a file that it runs, by its path or as a module.
fn runs(command: &str, path: &str) -> bool {
    words(command).any(|word| {
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
        let output = ["No module named 'lexer' in app_test.py, see a.txt"];
        for (path, expected) in [("src/lexer.py", true), ("app.py", false), ("lex.py", false)] {
            let is_module = module_of(path).is_some_and(|module| mentions(&output, module));
            assert_eq!(is_module, expected, "{path}");
        }
        for (path, expected) in [("out/a.txt", true), ("txt", true), ("lexer.toml", false)] {
            assert_eq!(is_named(&output, path), expected, "{path}");
        }
    }

    #[test]
    fn a_check_asks_for_a_file_by_its_name_and_not_by_that_of_the_tool() {
        let report = CheckReport {
            output: Some("mylint: a.txt is bad; ImportError: lexer; open out.json".to_owned()),
            ..CheckReport::default()
        };
        let trace = |paths: &[&str]| {
            let mut trace = Trace::default();
            trace.missing = paths.iter().map(|path| (*path).to_owned()).collect();
            trace
        };
        let paths = ["mylint.json", "mylint.config.js", "mylint.py", "lexer.py", "out.json", "x"];
        let used = Used::first(trace(&paths), &["mylint src && test -f x"], &[report]);
        let left: Vec<&str> = used.missing.iter().map(String::as_str).collect();
        assert_eq!(left, ["mylint.config.js", "mylint.json", "mylint.py"]);
    }

    #[test]
    fn configuration_has_usual_names() {
        let cases = [
            ("lint.json", true),
            ("src/lint.config.js", true),
            (".lintrc.js", true),
            ("lintrc", true),
            ("package-lock.json", false),
            ("src/lint.js", false),
            ("data.txt", false),
        ];
        for (path, expected) in cases {
            assert_eq!(is_configuration(path), expected, "{path}");
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
