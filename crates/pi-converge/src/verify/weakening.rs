//! Changes of configuration that can weaken a check, and those that cannot: a new dependency in
//! `Cargo.toml` is ordinary work, a removed test target is not. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The power of a change of configuration over the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weakening {
    /// None: an ordinary change.
    None,
    /// Settings of compilers, linters or other tools, in a manifest that has more than these.
    Settings,
    /// What is run or tested.
    Checks,
}

/// Returns the power of a change of a file over the checks.
pub(super) fn weakening(path: &str, before: &[u8], after: &[u8]) -> Weakening {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let (checks, settings) = match name {
        "package.json" | "composer.json" => {
            (package_json(&before, &after), replaces_packages(&before, &after))
        }
        "Cargo.toml" => {
            let is_work = |section: &str| {
                let work = ["dependencies", "features", "package", "metadata", "badges"];
                work.iter().any(|part| section.contains(part)) && !section.contains("lints")
                    || matches!(section, "lib" | "bin" | "workspace" | "")
            };
            let settings = has_other_settings(&before, &after, is_work)
                || replaces_dependencies(&before, &after);
            (cargo_toml(&before, &after), settings)
        }
        "pyproject.toml" | "setup.cfg" => {
            let is_work = |section: &str| {
                section.starts_with("project")
                    || section.starts_with("dependency-groups")
                    || section.starts_with("metadata")
                    || section.starts_with("options")
                    || section.starts_with("tool.poetry")
                    || section.is_empty()
            };
            (python(&before, &after), has_other_settings(&before, &after, is_work))
        }
        _ => (before != after, false),
    };
    match (checks, settings) {
        (true, _) => Weakening::Checks,
        (false, true) => Weakening::Settings,
        (false, false) => Weakening::None,
    }
}

/// Returns true if sections differ that are not about the work itself.
fn has_other_settings(before: &str, after: &str, is_work: impl Fn(&str) -> bool) -> bool {
    let others = |text: &str| -> BTreeMap<String, Vec<String>> {
        sections(text).into_iter().filter(|(name, _)| !is_work(name)).collect()
    };
    others(before) != others(after)
}

/// Returns true if a dependency that was there before has another source: a test that uses it would
/// use something else.
fn replaces_dependencies(before: &str, after: &str) -> bool {
    let sources = |text: &str| -> BTreeMap<(String, String), BTreeSet<String>> {
        let mut sources: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (section, lines) in sections(text) {
            let (kind, table) = match section.split_once("dependencies.") {
                Some((kind, name)) => (format!("{kind}dependencies"), Some(name.to_owned())),
                None if section.ends_with("dependencies") => (section, None),
                None => continue,
            };
            for line in lines {
                let Some((key, value)) = line.split_once('=') else { continue };
                let (name, value) = match (&table, key.split_once('.')) {
                    (Some(name), _) => (name.clone(), format!("{key}={value}")),
                    (None, Some((name, key))) => (name.trim().to_owned(), format!("{key}={value}")),
                    (None, None) => (key.trim().to_owned(), value.to_owned()),
                };
                let fields = value.split(['{', ',', '}']).map(str::trim).filter(|field| {
                    let key = field.split('=').next().unwrap_or_default().trim();
                    field.contains('=')
                        && ["path", "git", "branch", "rev", "package", "registry"].contains(&key)
                });
                let fields: Vec<String> = fields.map(str::to_owned).collect();
                sources.entry((kind.clone(), name)).or_default().extend(fields);
            }
        }
        sources
    };
    let after = sources(after);
    sources(before).iter().any(|(name, source)| after.get(name).is_some_and(|now| now != source))
}

/// Fields of `package.json` that do not decide what a script or a test runner does.
const HARMLESS: &[&str] = &[
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
    "version",
    "description",
    "keywords",
    "author",
    "contributors",
    "license",
    "repository",
    "bugs",
    "homepage",
    "files",
    "bin",
    "engines",
    "types",
    "typings",
    "main",
    "module",
    "exports",
    "sideEffects",
    "publishConfig",
    "funding",
    "private",
    "require",
    "require-dev",
    "authors",
];

/// Returns true if a package that was required before comes from another place, such as a directory.
fn replaces_packages(before: &str, after: &str) -> bool {
    let required = |text: &str| -> BTreeMap<String, Value> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return BTreeMap::new() };
        let is_list = |name: &str| name.to_ascii_lowercase().ends_with("dependencies");
        let lists = fields.into_iter().filter(|(name, _)| is_list(name));
        lists
            .flat_map(|(list, packages)| match packages {
                Value::Object(packages) => packages
                    .into_iter()
                    .map(|(name, version)| (format!("{list} {name}"), version))
                    .collect(),
                _ => Vec::new(),
            })
            .collect()
    };
    let is_place = |version: &Value| version.as_str().is_some_and(|text| text.contains([':', '/']));
    let after = required(after);
    required(before).iter().any(|(name, version)| {
        let now = after.get(name);
        now.is_some_and(|now| now != version && (is_place(now) || is_place(version)))
    })
}

fn package_json(before: &str, after: &str) -> bool {
    let fields = |text: &str| -> Option<BTreeMap<String, Value>> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return None };
        let deciding = fields.into_iter().filter(|(key, _)| !HARMLESS.contains(&key.as_str()));
        Some(deciding.collect())
    };
    match (fields(before), fields(after)) {
        (Some(before), Some(after)) => before != after,
        // A file that is not valid is not understood.
        _ => true,
    }
}

/// Keys that turn targets or tests off, or exchange what runs.
const CARGO_KEYS: &[&str] = &[
    "test",
    "tests",
    "doctest",
    "harness",
    "autotests",
    "autobins",
    "exclude",
    "default-members",
    "build",
    "required-features",
    "path",
    "runner",
    "bench",
];

fn cargo_toml(before: &str, after: &str) -> bool {
    let is_relevant = |section: &str| {
        let harmless = ["dependencies", "features", "metadata", "badges", "patch", "lints"];
        !harmless.iter().any(|part| section.contains(part))
    };
    let key = |line: &str| line.split(['=', '.']).next().unwrap_or_default().trim().to_owned();
    let decides = |section: &str, line: &str| {
        section != "package" || CARGO_KEYS.contains(&key(line).as_str())
    };
    let (before, after) = (sections(before), sections(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| is_relevant(name)).any(|name| {
        let none = Vec::new();
        let old = before.get(name).unwrap_or(&none);
        let new = after.get(name).unwrap_or(&none);
        let is_lost = |line: &&String| !new.contains(line) && decides(name, line);
        let is_new =
            |line: &&String| !old.contains(line) && CARGO_KEYS.contains(&key(line).as_str());
        old.iter().any(|line| is_lost(&line)) || new.iter().any(|line| is_new(&line))
    })
}

fn python(before: &str, after: &str) -> bool {
    let is_relevant = |section: &String| {
        let parts = [
            "pytest",
            "tox",
            "testenv",
            "nox",
            "coverage",
            "hatch.envs",
            "scripts",
            "poe",
            "build-system",
        ];
        parts.iter().any(|part| section.contains(part))
    };
    let relevant = |text: &str| -> BTreeMap<String, Vec<String>> {
        sections(text).into_iter().filter(|(name, _)| is_relevant(name)).collect()
    };
    relevant(before) != relevant(after)
}

/// Returns the lines of each section of an INI or TOML file, without comments. The lines of a
/// section that occurs several times are together.
fn sections(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') && line.ends_with(']') && !line.contains('=') {
            current = line.trim_matches(['[', ']']).trim().to_owned();
        } else {
            sections.entry(current.clone()).or_default().push(line.to_owned());
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_changes_and_weakening_ones() {
        let cargo = "[package]\nname = \"a\"\nversion = \"1\"\n[workspace]\nmembers = [\n\"x\",\n\"y\",\n]\n[dependencies]\n";
        let cases = [
            ("Cargo.toml", cargo, &*format!("{cargo}serde = \"1\"\n"), false),
            ("Cargo.toml", cargo, &*cargo.replace("\"1\"", "\"2\""), false),
            ("Cargo.toml", cargo, &*cargo.replace("\"y\",", "\"y\",\n\"z\","), false),
            ("Cargo.toml", cargo, &*cargo.replace("\"y\",\n", ""), true),
            ("Cargo.toml", cargo, &*format!("{cargo}[lib]\ntest = false\n"), true),
            ("Cargo.toml", cargo, &*cargo.replace("version", "autotests = false\nversion"), true),
            (
                "a/package.json",
                r#"{"scripts":{"test":"jest"}}"#,
                r#"{"scripts":{"test":"jest"},"dependencies":{"a":"1"}}"#,
                false,
            ),
            (
                "package.json",
                r#"{"scripts":{"test":"jest"}}"#,
                r#"{"scripts":{"test":"true"}}"#,
                true,
            ),
            (
                "package.json",
                r#"{"scripts":{"test":"jest"}}"#,
                r#"{"jest":{"testMatch":[]},"scripts":{"test":"jest"}}"#,
                true,
            ),
            ("package.json", "{}", "{", true),
            (
                "pyproject.toml",
                "[project]\nname='a'",
                "[project]\nname='a'\ndependencies=['b']",
                false,
            ),
            (
                "pyproject.toml",
                "[project]\n",
                "[project]\n[tool.pytest.ini_options]\naddopts='--co'",
                true,
            ),
            ("Makefile", "a", "b", true),
            ("Makefile", "a", "a", false),
        ];
        for (path, before, after, expected) in cases {
            let found = weakening(path, before.as_bytes(), after.as_bytes());
            assert_eq!(found == Weakening::Checks, expected, "{path}: {after}");
        }
    }

    #[test]
    fn other_sources_of_dependencies_are_for_a_person() {
        let before = "[dev-dependencies]\na = \"1\"\nb = { version = \"1\", features = [\"x\"] }\n\
            [dependencies.c]\nversion = \"1\"\n";
        let cases = [
            ("a = \"1\"", "a = { path = \"a\" }", true),
            ("a = \"1\"", "a = { version = \"2\", features = [\"y\"] }", false),
            ("a = \"1\"", "a.git = \"https://example.com/a\"", true),
            ("b = { version", "b = { package = \"a\", version", true),
            ("[dependencies.c]", "[dependencies.c]\npath = \"c\"", true),
            ("a = \"1\"", "a = \"1\"\nd = { path = \"d\" }", false),
        ];
        for (old, new, expected) in cases {
            let after = before.replace(old, new);
            let found = weakening("Cargo.toml", before.as_bytes(), after.as_bytes());
            assert_eq!(found == Weakening::Settings, expected, "{new}");
        }
    }

    #[test]
    fn settings_of_tools_are_for_a_person() {
        let cases = [
            ("Cargo.toml", "[lints.clippy]\nall = \"allow\"\n", Weakening::Settings),
            ("Cargo.toml", "[workspace.lints.rust]\nwarnings = \"allow\"\n", Weakening::Settings),
            ("Cargo.toml", "[profile.test]\nopt-level = 3\n", Weakening::Settings),
            ("Cargo.toml", "[dependencies]\na = \"1\"\n", Weakening::None),
            ("Cargo.toml", "[workspace.dependencies]\na = \"1\"\n", Weakening::None),
            ("Cargo.toml", "[patch.crates-io]\na = { path = \"a\" }\n", Weakening::Settings),
            ("pyproject.toml", "[tool.ruff]\nselect = []\n", Weakening::Settings),
            ("pyproject.toml", "[tool.mypy]\nignore_errors = true\n", Weakening::Settings),
            ("pyproject.toml", "[project.urls]\na = \"b\"\n", Weakening::None),
            ("setup.cfg", "[flake8]\nexclude = .\n", Weakening::Settings),
            ("setup.cfg", "[options]\ninstall_requires = a\n", Weakening::None),
        ];
        let required = |version: &str| format!(r#"{{"devDependencies":{{"a":"{version}"}}}}"#);
        for (version, expected) in [("2", Weakening::None), ("file:./a", Weakening::Settings)] {
            let (before, after) = (required("1"), required(version));
            let found = weakening("package.json", before.as_bytes(), after.as_bytes());
            assert_eq!(found, expected, "{version}");
        }
        for (path, after, expected) in cases {
            assert_eq!(weakening(path, b"", after.as_bytes()), expected, "{path}: {after}");
        }
    }
}
