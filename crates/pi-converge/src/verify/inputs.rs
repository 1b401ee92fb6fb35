//! The files that decide what a check does: protected files, the verifier's own files, and tests.
//!
//! The agent may read all of them, and none of its changes to them may decide a check. Pure: the
//! caller reads files.

use std::collections::BTreeSet;

use super::globs::Pattern;
use crate::contract::Check;

/// The part that a file has in the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// A test that existed before. The original is used; a change alone is not a failure.
    Test,
    /// A script or a configuration that a check runs or reads. A change is a failure.
    Verifier,
    /// A file that the contract protects. A change is a failure.
    Protected,
}

/// The rules that give files their roles.
#[derive(Debug, Default)]
pub(super) struct Roles {
    protected: Vec<Pattern>,
    /// Patterns of `allowed` and `required`: what they name may be changed.
    permitted: Vec<Pattern>,
    /// Files that the commands name.
    named: BTreeSet<String>,
    /// Programs that the commands mention.
    programs: BTreeSet<String>,
    has_commands: bool,
}

/// Files that configure the tests of a program, by name or by the end of the path.
const CONFIGURATION: &[(&[&str], &[&str])] = &[
    (&["make", "gmake", "mingw32-make"], &["Makefile", "makefile", "GNUmakefile", "*.mk"]),
    (
        &["cargo", "rustc", "cross"],
        &[
            "Cargo.toml",
            "build.rs",
            "rust-toolchain",
            "rust-toolchain.toml",
            ".cargo/config",
            ".cargo/config.toml",
            ".config/nextest.toml",
            "clippy.toml",
            ".clippy.toml",
        ],
    ),
    (
        &[
            "pytest", "python", "python3", "tox", "nox", "py.test", "uv", "poetry", "hatch",
            "pipenv",
        ],
        &[
            "conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
            "noxfile.py",
            "sitecustomize.py",
            "usercustomize.py",
            "pytest.py",
            "unittest.py",
            "pytest/__init__.py",
            "unittest/__init__.py",
            "*.pth",
        ],
    ),
    (
        &[
            "npm",
            "npx",
            "yarn",
            "pnpm",
            "bun",
            "node",
            "jest",
            "vitest",
            "mocha",
            "tsc",
            "deno",
            "ava",
            "playwright",
            "eslint",
            "turbo",
            "nx",
        ],
        &[
            "package.json",
            "jest.config.*",
            "vitest.config.*",
            "vite.config.*",
            ".mocharc*",
            "babel.config.*",
            ".babelrc*",
            "playwright.config.*",
            "ava.config.*",
            ".npmrc",
            ".yarnrc*",
            "deno.json",
            "deno.jsonc",
            "turbo.json",
            "nx.json",
            "bunfig.toml",
            "jest.setup.*",
            "vitest.setup.*",
        ],
    ),
    (&["go", "gotestsum"], &["go.work"]),
    (
        &["gradle", "gradlew", "mvn", "mvnw", "ant", "sbt"],
        &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.properties",
            "gradlew",
            "pom.xml",
            "mvnw",
            "build.xml",
            "build.sbt",
        ],
    ),
    (
        &["cmake", "ctest", "ninja", "meson", "bazel", "bazelisk"],
        &[
            "CMakeLists.txt",
            "CTestTestfile.cmake",
            "CTestConfig.cmake",
            "CMakePresets.json",
            "build.ninja",
            "meson.build",
            "BUILD",
            "BUILD.bazel",
            "WORKSPACE",
            "MODULE.bazel",
            ".bazelrc",
        ],
    ),
    (&["rake", "rspec", "bundle", "ruby"], &["Rakefile", ".rspec", "spec_helper.rb"]),
    (&["phpunit", "composer", "php"], &["phpunit.xml", "phpunit.xml.dist", "composer.json"]),
    (&["dotnet"], &["Directory.Build.props", "Directory.Build.targets", "*.runsettings"]),
    (&["mix"], &["mix.exs", "test_helper.exs"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["act"], &[".github/workflows/*"]),
];

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
        checks: &[Check],
        goal: &str,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, globset::Error> {
        let mut roles = Self::default();
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
        for _ in 0..3 {
            let mut further = Vec::new();
            for text in &texts {
                roles.read_words(text, goal, read, &mut further);
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

    /// Returns the role of a path.
    pub(super) fn of(&self, path: &str) -> Option<Role> {
        if self.protected.iter().any(|pattern| pattern.matches(path)) {
            return Some(Role::Protected);
        }
        if !self.has_commands || self.permitted.iter().any(|pattern| pattern.names(path)) {
            return None;
        }
        if is_test(path) {
            return Some(Role::Test);
        }
        let is_verifier = self.named.contains(path) || self.is_configuration(path);
        is_verifier.then_some(Role::Verifier)
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

    fn is_configuration(&self, path: &str) -> bool {
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
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    if CHECKING.iter().any(|part| lower.contains(part)) {
        return true;
    }
    let first = content.lines().next().unwrap_or_default();
    let is_shell = lower.ends_with(".sh")
        || lower.ends_with(".bash")
        || (first.starts_with("#!") && first.ends_with("sh"));
    is_shell && !goal.contains(name)
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

    fn roles(checks: serde_json::Value, goal: &str, files: &[(&str, &str)]) -> Roles {
        let checks: Vec<Check> = serde_json::from_value(checks).unwrap();
        let read = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        Roles::new(&checks, goal, &read).unwrap()
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
            let roles = roles(checks.clone(), goal, &files);
            for (path, role) in *expected {
                assert_eq!(roles.of(path), *role, "{path} in {checks}");
            }
        }
    }
}
