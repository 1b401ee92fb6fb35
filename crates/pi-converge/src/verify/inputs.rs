//! The files that decide what a check does: protected files, the verifier's own files, and tests.
//!
//! The agent may read all of them, and none of its changes to them may decide a check. Pure: the
//! caller reads files.

use std::collections::BTreeSet;

use pi_tools::checkpoint::FileState;

use super::configuration::CONFIGURATION;
use super::goal;
use crate::contract::{Check, Contract};
use crate::globs::Pattern;

/// The part that a file has in the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// A test, an expectation, or a manifest with settings of a check. The original is used; a
    /// change that decides a check is for a person to look at.
    Test,
    /// A configuration that did not exist before. A check that needs it fails.
    Added,
    /// A script or a configuration that a check runs or reads. A change is a failure.
    Verifier,
    /// A file that the contract protects. A change is a failure.
    Protected,
}

/// The paths at the start, as far as roles depend on them.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    /// Links to paths of the workspace, with their targets.
    pub(super) links: Vec<(String, String)>,
    pub(super) directories: BTreeSet<String>,
}

impl Start {
    /// Derives them from the paths at the start.
    pub(super) fn of(paths: &[(String, FileState)]) -> Self {
        let mut start = Self::default();
        for (path, state) in paths {
            match state {
                FileState::Directory { .. } => drop(start.directories.insert(path.clone())),
                FileState::Link { target } => {
                    start.links.extend(resolved(path, target).map(|to| (path.clone(), to)));
                }
                _ => {}
            }
        }
        start
    }
}

/// Returns the path to which a link leads, if it is in the workspace.
fn resolved(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The rules that give files their roles.
#[derive(Debug, Default)]
pub(super) struct Roles {
    protected: Vec<Pattern>,
    /// Patterns of `allowed` and `required`: what they name may be changed.
    permitted: Vec<Pattern>,
    /// Patterns of `may_change`.
    may_change: Vec<Pattern>,
    /// What the goal asks to change.
    objects: BTreeSet<String>,
    /// Links of the workspace with their targets: what they name is known by two paths.
    links: Vec<(String, String)>,
    /// Directories at the start.
    directories: BTreeSet<String>,
    /// Files that the commands name.
    named: BTreeSet<String>,
    /// Those of them that the commands of the contract name themselves.
    direct: BTreeSet<String>,
    /// Programs that the commands mention.
    programs: BTreeSet<String>,
    has_commands: bool,
}

/// Parts of names that say that a script checks something.
const CHECKING: &[&str] = &[
    "test", "check", "verif", "valid", "spec", "assert", "lint", "grade", "judge", "score",
    "expect", "golden", "ci.",
];

/// Characters that separate words in commands, scripts and configuration.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || ";|&()<>{}[]\"'`=,:$@".contains(c)
}

impl Roles {
    /// Derives the roles from the checks of a contract. `read` returns the content of a file of the
    /// workspace.
    pub(super) fn new(
        contract: &Contract,
        start: Start,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, globset::Error> {
        let (checks, goal) = (&contract.verify, contract.goal.as_str());
        let mut roles = Self {
            may_change: Pattern::all(&contract.may_change)?,
            objects: goal::objects(goal),
            links: start.links,
            directories: start.directories,
            ..Self::default()
        };
        let mut texts = Vec::new();
        for check in checks {
            match check {
                Check::Files(check) => {
                    let rules = &check.files;
                    roles.protected.extend(Pattern::all(&rules.protected)?);
                    roles.permitted.extend(Pattern::all(&rules.allowed)?);
                    roles.permitted.extend(Pattern::all(&rules.required)?);
                }
                Check::Command(check) => texts.push(check.command.clone()),
                Check::Json(_) | Check::Review(_) => {}
            }
        }
        roles.has_commands = !texts.is_empty();
        // Scripts start further scripts. Three levels are enough for a Makefile in a script.
        for level in 0..3 {
            let mut further = Vec::new();
            for text in &texts {
                roles.read_words(text, goal, read, &mut further);
            }
            if level == 0 {
                roles.direct.clone_from(&roles.named);
            }
            for name in ["Makefile", "package.json", "justfile", "tox.ini"] {
                if !roles.named.contains(name) && roles.is_configuration(name) {
                    roles.named.insert(name.to_owned());
                    further.extend(read(name));
                }
            }
            texts = further;
        }
        Ok(roles)
    }

    /// Collects the programs and files that a command or script mentions.
    fn read_words(
        &mut self,
        text: &str,
        goal: &str,
        read: &dyn Fn(&str) -> Option<String>,
        scripts: &mut Vec<String>,
    ) {
        for word in text.split(is_separator).filter(|word| !word.is_empty()) {
            let program = word.rsplit('/').next().unwrap_or(word);
            if CONFIGURATION.iter().any(|(programs, _)| programs.contains(&program)) {
                self.programs.insert(program.to_owned());
            }
            let path = word.strip_prefix("./").unwrap_or(word).to_owned();
            let module = format!("{}.py", path.replace('.', "/"));
            for path in [path, module] {
                let is_inside = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
                if !is_inside || self.named.contains(&path) {
                    continue;
                }
                let Some(content) = read(&path) else { continue };
                if is_script_of_a_check(&path, &content, goal) {
                    self.named.insert(path);
                    scripts.push(content);
                }
            }
        }
    }

    /// Returns the role of a path, under any name that it has by a link.
    pub(super) fn of(&self, path: &str) -> Option<Role> {
        // A link stands for everything behind it.
        let is_link = self.links.iter().any(|(link, _)| link == path);
        let behind = is_link.then(|| format!("{path}/_"));
        let names = self.aliases(path).chain(behind).filter_map(|name| self.of_name(&name));
        names.chain(self.of_name(path)).max()
    }

    /// Returns the other names of a path, which it has by links.
    fn aliases(&self, path: &str) -> impl Iterator<Item = String> {
        self.links.iter().filter_map(move |(link, target)| {
            let rest = path.strip_prefix(target.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{link}{rest}"))
        })
    }

    /// Returns true for a script that only checks: a command of the contract names it, or its name
    /// says so. What such a script runs besides may be the work.
    pub(super) fn is_script_of_a_check(&self, path: &str) -> bool {
        self.direct.contains(path) || self.named.contains(path) && has_checking_name(path)
    }

    /// Returns true if a command names the file, or a script that it runs.
    pub(super) fn is_named(&self, path: &str) -> bool {
        self.named.contains(path)
    }

    /// Returns true if a command of the contract names the file itself.
    pub(super) fn is_named_directly(&self, path: &str) -> bool {
        self.direct.contains(path)
    }

    /// Returns true for the manifest of a package in a new directory, which decides only about that
    /// package.
    pub(super) fn is_part_of_new_work(&self, path: &str) -> bool {
        let Some((directory, name)) = path.rsplit_once('/') else { return false };
        matches!(name, "Cargo.toml" | "package.json" | "pyproject.toml" | "CMakeLists.txt")
            && !self.directories.contains(directory)
    }

    fn of_name(&self, path: &str) -> Option<Role> {
        if self.protected.iter().any(|pattern| pattern.matches(path)) {
            return Some(Role::Protected);
        }
        if !self.has_commands || self.is_permitted(path) {
            return None;
        }
        let is_support = is_test_support(path);
        let is_script = self.named.contains(path) && !is_test(path);
        if is_script || self.is_configuration(path) && !is_support {
            return Some(Role::Verifier);
        }
        (is_test(path) || is_expectation(path) || self.is_configuration(path)).then_some(Role::Test)
    }

    /// Returns true if the task or the goal permits a change of a file.
    pub(super) fn is_permitted(&self, path: &str) -> bool {
        self.is_permitted_by_task(path)
            || self.permitted.iter().any(|pattern| pattern.names(path))
            // "Repair add.sh" is not about `tests/add.sh`.
            || match is_test(path) && path.contains('/') {
                true => self.objects.contains(&path.to_lowercase()),
                false => goal::names(&self.objects, path),
            }
    }

    /// Returns true if the task permits changes of the tests in a file.
    pub(super) fn is_permitted_by_task(&self, path: &str) -> bool {
        self.may_change.iter().any(|pattern| pattern.matches(path))
    }

    /// Returns the protected patterns that match none of these paths, under any of their names.
    pub(super) fn unmatched<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut unmatched: Vec<&Pattern> = self.protected.iter().collect();
        for path in paths {
            let names: Vec<String> = self.aliases(path).chain([path.to_owned()]).collect();
            unmatched.retain(|pattern| !names.iter().any(|name| pattern.matches(name)));
            if unmatched.is_empty() {
                break;
            }
        }
        unmatched.into_iter().map(|pattern| pattern.text.clone()).collect()
    }

    /// Returns true if a path matches one of the protected patterns.
    pub(super) fn is_protected(&self, path: &str) -> bool {
        self.of(path) == Some(Role::Protected)
    }

    /// Returns true if the contract protects files.
    pub(super) fn has_protected(&self) -> bool {
        !self.protected.is_empty()
    }

    /// Returns the files that commands name, also if git ignores them.
    pub(super) fn named(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(String::as_str)
    }

    /// Returns true for the usual names of files that configure a program of the checks.
    pub(super) fn is_configuration(&self, path: &str) -> bool {
        let used = |programs: &[&str]| programs.iter().any(|name| self.programs.contains(*name));
        CONFIGURATION
            .iter()
            .filter(|(programs, _)| used(programs))
            .flat_map(|(_, files)| files.iter())
            .any(|file| is_named(path, file))
    }
}

/// Returns true if a path ends with these names. One `*` stands for any text of a name.
fn is_named(path: &str, names: &str) -> bool {
    let count = names.split('/').count();
    let mut end: Vec<&str> = path.rsplit('/').take(count).collect();
    end.reverse();
    let end = end.join("/");
    match names.split_once('*') {
        Some((start, rest)) => {
            end.len() >= start.len() + rest.len() && end.starts_with(start) && end.ends_with(rest)
        }
        None => end == names,
    }
}

/// Returns true if a file that a command names belongs to the check and not to the work: `check.sh`
/// does, and `fib.py` in `python3 fib.py` does not.
fn is_script_of_a_check(path: &str, content: &str, goal: &str) -> bool {
    if has_checking_name(path) {
        return true;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let first = content.lines().next().unwrap_or_default();
    let is_shell = lower.ends_with(".sh")
        || lower.ends_with(".bash")
        || (first.starts_with("#!") && first.ends_with("sh"));
    is_shell && !goal.contains(name)
}

/// Returns true if the name of a script says that it checks something.
fn has_checking_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    CHECKING.iter().any(|part| name.contains(part))
}

/// Returns true for configuration of tests that lies beside them, as new tests often need it.
fn is_test_support(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.contains('/') && matches!(name, "conftest.py" | "spec_helper.rb" | "test_helper.exs")
}

/// Parts of names that say that a file has expected results.
const EXPECTATIONS: &[&str] = &[
    "golden",
    "snapshot",
    "expect",
    "fixture",
    "baseline",
    "approved",
    "reference",
    "testdata",
    "cassette",
    "oracle",
    "want",
    "known_good",
    "known-good",
    "__snap",
];
/// Those of them that stand for expected results also in the names of programs.
const SOURCE_EXPECTATIONS: &[&str] = &["golden", "expected", "expectation", "fixture"];

/// Returns true for the usual names of expected results.
fn is_expectation(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_source = is_source(&lower);
    let names = if is_source { SOURCE_EXPECTATIONS } else { EXPECTATIONS };
    let has_name = |part: &str| names.iter().any(|name| part.contains(name));
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or(&lower);
    let has_extension = [".snap", ".golden", ".expected", ".out", ".approved", ".gold"];
    has_extension.iter().any(|end| name.ends_with(end))
        || has_name(name)
        || parts.any(|part| has_name(part) || part == "snap" && !is_source)
}

/// Returns true for the usual extensions of programs.
pub(super) fn is_source(path: &str) -> bool {
    const SOURCES: &[&str] = &[
        "rs", "py", "js", "ts", "jsx", "tsx", "mjs", "cjs", "mts", "go", "c", "h", "cc", "cpp",
        "hpp", "java", "kt", "rb", "cs", "swift", "php", "scala", "ex", "exs", "sh", "pl", "lua",
        "hs", "ml", "zig", "dart", "vue", "svelte",
    ];
    path.rsplit_once('.').is_some_and(|(_, extension)| SOURCES.contains(&extension))
}

/// Returns true for the usual names of tests.
pub(super) fn is_test(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    if parts.any(|part| matches!(part, "tests" | "test" | "__tests__" | "testdata")) {
        return true;
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    match extension {
        "py" => {
            stem.starts_with("test_") || stem.ends_with("_test") || matches!(stem, "test" | "tests")
        }
        "go" | "rs" | "rb" | "c" | "cc" | "cpp" | "ex" | "exs" | "dart" => {
            stem.ends_with("_test")
                || stem.ends_with("_tests")
                || stem.ends_with("_spec")
                || stem == "tests"
        }
        "js" | "ts" | "jsx" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" => {
            stem.ends_with(".test") || stem.ends_with(".spec") || matches!(stem, "test" | "tests")
        }
        "java" | "kt" | "cs" | "swift" | "php" | "scala" => {
            stem.ends_with("Test") || stem.ends_with("Tests")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn roles(checks: &serde_json::Value, goal: &str, files: &[(&str, &str)]) -> Roles {
        let contract = json!({"goal": goal, "verify": checks});
        let contract: Contract = serde_json::from_value(contract).unwrap();
        let read = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        Roles::new(&contract, Start::default(), &read).unwrap()
    }

    #[test]
    fn files_get_roles() {
        use Role::{Protected, Test, Verifier};
        let files = [
            ("check.sh", "#!/bin/sh\nmake -C sub all"),
            ("run.sh", "#!/bin/sh\npython3 fib.py"),
            ("fib.py", "print(1)"),
            ("Makefile", "all:\n\tcargo test"),
            ("package.json", "{\"scripts\":{\"test\":\"jest\"}}"),
            ("pkg/test_a.py", ""),
            ("verify.py", ""),
        ];
        let cases: &[(serde_json::Value, &str, &[(&str, Option<Role>)])] = &[
            (
                json!([{"command": "sh ./check.sh"}]),
                "",
                &[
                    ("check.sh", Some(Verifier)),
                    ("Makefile", Some(Verifier)),
                    ("sub/GNUmakefile", Some(Verifier)),
                    ("Cargo.toml", Some(Verifier)),
                    (".cargo/config.toml", Some(Verifier)),
                    ("run.sh", None),
                    ("src/lib.rs", None),
                    ("tests/a.rs", Some(Test)),
                    ("conftest.py", None),
                ],
            ),
            (
                json!([{"command": "python3 fib.py | grep 55"}]),
                "",
                &[
                    ("fib.py", None),
                    ("conftest.py", Some(Verifier)),
                    ("unittest.py", Some(Verifier)),
                ],
            ),
            (json!([{"command": "./run.sh"}]), "", &[("run.sh", Some(Verifier)), ("fib.py", None)]),
            (json!([{"command": "./run.sh"}]), "Fix run.sh.", &[("run.sh", None)]),
            (
                json!([{"command": "python3 -m unittest pkg.test_a && python3 verify.py"}]),
                "",
                &[("pkg/test_a.py", Some(Test)), ("verify.py", Some(Verifier))],
            ),
            (
                json!([{"command": "npm test"}]),
                "",
                &[
                    ("package.json", Some(Verifier)),
                    ("jest.config.js", Some(Verifier)),
                    ("src/a.test.ts", Some(Test)),
                ],
            ),
            (
                json!([{"command": "make"}, {"files": {"protected": ["spec/**", "tests"], "allowed": ["src/**", "Makefile"]}}]),
                "",
                &[
                    ("spec/a", Some(Protected)),
                    ("tests/b", Some(Protected)),
                    ("Makefile", None),
                    ("sub/Makefile", None),
                    ("x.mk", Some(Verifier)),
                ],
            ),
            (json!([{"json": [{"pointer": "/a"}]}]), "", &[("tests/a", None), ("Makefile", None)]),
        ];
        for (checks, goal, expected) in cases {
            let roles = roles(checks, goal, &files);
            for (path, role) in *expected {
                assert_eq!(roles.of(path), *role, "{path} in {checks}");
            }
        }
    }
}
