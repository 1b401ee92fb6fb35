//! The resources of packages and which of them are loaded. Pure but for reading the packages.

use std::path::{Path, PathBuf};

use pi_coding_agent::Environment;
use pi_config::resources::{ConfiguredPackage, configured_packages};
use pi_config::resources::{PackageContents, PackageLocation, PackageRoot};
use pi_config::{SettingsScope, SettingsStore};
use serde_json::{Map, Value, json};

/// A resource of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// Source of the package.
    pub(super) package: String,
    /// Key of the kind in the settings.
    pub(super) kind: &'static str,
    /// Path relative to the package.
    pub(super) path: String,
    pub(super) is_loaded: bool,
    /// The package is one of the user, and the settings of the project are shown.
    pub(super) is_inherited: bool,
    /// Decision of the project about an inherited resource.
    pub(super) decision: Option<bool>,
}

impl Resource {
    /// Returns the name in the list.
    pub(super) fn name(&self) -> &str {
        let path = Path::new(&self.path);
        let is_skill = path.file_name().is_some_and(|name| name == "SKILL.md");
        let shown = if is_skill { path.parent().unwrap_or(path) } else { path };
        shown.file_name().and_then(|name| name.to_str()).unwrap_or(&self.path)
    }

    /// Returns the decision after the next press of the key: a resource is on or off; an inherited
    /// one can also follow the user's settings.
    pub(super) fn next(&self) -> Option<bool> {
        match (self.is_inherited, self.decision) {
            (false, _) => Some(!self.is_loaded),
            (true, None) => Some(!self.is_loaded),
            (true, Some(is_on)) if is_on == self.is_loaded => Some(!is_on),
            (true, Some(_)) => None,
        }
    }
}

/// Kinds of resources, in the order of the list.
const KINDS: [&str; 4] = ["extensions", "skills", "prompts", "themes"];

fn files<'c>(contents: &'c PackageContents, kind: &str) -> &'c [PathBuf] {
    match kind {
        "extensions" => &contents.extensions,
        "skills" => &contents.skills,
        "prompts" => &contents.prompts,
        _ => &contents.themes,
    }
}

/// Returns the resources of the packages of a settings file. For a project, those of the user
/// follow.
pub(super) fn resources(
    environment: &Environment,
    settings: &SettingsStore,
    scope: SettingsScope,
) -> Vec<Resource> {
    let own = configured_packages(environment, settings, scope);
    let mut found = Vec::new();
    for package in own.iter().filter(|package| !package.is_delta) {
        let selected = package.root().contents(environment, &mut Vec::new());
        found.extend(of_package(package, &selected, environment));
    }
    if scope == SettingsScope::Project {
        for package in configured_packages(environment, settings, SettingsScope::User) {
            let selected = package.root().contents(environment, &mut Vec::new());
            let identity = identity(&package.source, &environment.agent_directory, environment);
            let base = environment.project_directory();
            let same = |one: &&ConfiguredPackage| {
                identity.is_some() && self::identity(&one.source, &base, environment) == identity
            };
            let delta = own.iter().find(same).map(|one| one.root());
            for mut resource in of_package(&package, &selected, environment) {
                resource.is_inherited = true;
                resource.decision = delta.as_ref().and_then(|delta| decision(delta, &resource));
                found.push(resource);
            }
        }
    }
    found
}

fn of_package(
    package: &ConfiguredPackage,
    selected: &PackageContents,
    environment: &Environment,
) -> Vec<Resource> {
    let whole = PackageRoot::whole(&package.source, &package.directory);
    let all = whole.contents(environment, &mut Vec::new());
    let mut found = Vec::new();
    for kind in KINDS {
        for file in files(&all, kind) {
            let path = file.strip_prefix(&package.directory).unwrap_or(file);
            found.push(Resource {
                package: package.source.clone(),
                kind,
                path: path.to_string_lossy().into_owned(),
                is_loaded: files(selected, kind).contains(file),
                is_inherited: false,
                decision: None,
            });
        }
    }
    found
}

/// Returns the decision of a project's entry about a resource of the user.
fn decision(delta: &PackageRoot, resource: &Resource) -> Option<bool> {
    let list = match resource.kind {
        "extensions" => &delta.extensions,
        "skills" => &delta.skills,
        "prompts" => &delta.prompts,
        _ => &delta.themes,
    };
    let entries = list.iter().flatten().rev();
    let decided = entries.filter(|entry| entry.get(1..) == Some(resource.path.as_str()));
    decided.into_iter().find_map(|entry| match entry.chars().next() {
        Some('+') => Some(true),
        Some('-') => Some(false),
        _ => None,
    })
}

pub(super) fn identity(source: &str, base: &Path, environment: &Environment) -> Option<String> {
    Some(PackageLocation::parse(source).ok()?.identity(base, environment))
}

/// Returns the list `packages` after a decision about a resource; `None` follows the user's
/// settings. `is_same` recognizes the source of the package; a new entry gets `source`.
pub(super) fn decided(
    list: Option<&Value>,
    source: &str,
    is_same: impl Fn(&str) -> bool,
    resource: &Resource,
    decision: Option<bool>,
) -> Option<Value> {
    let mut entries = list.and_then(Value::as_array).cloned().unwrap_or_default();
    let is_entry = |entry: &Value| {
        let source = entry.as_str().or_else(|| entry["source"].as_str());
        source.is_some_and(&is_same)
    };
    let at = entries.iter().position(is_entry);
    let mut entry = match at.and_then(|at| entries.get(at)) {
        Some(Value::Object(entry)) => entry.clone(),
        Some(whole) => Map::from_iter([("source".to_owned(), whole.clone())]),
        None => Map::from_iter([
            ("source".to_owned(), json!(source)),
            ("autoload".to_owned(), json!(false)),
        ]),
    };
    let known = entry.get(resource.kind).and_then(Value::as_array).cloned();
    let is_none = known.as_ref().is_some_and(Vec::is_empty);
    let mut paths = known.unwrap_or_default();
    paths.retain(|path| {
        path.as_str().is_none_or(|path| {
            !path.starts_with(['+', '-']) || path.get(1..) != Some(resource.path.as_str())
        })
    });
    match decision {
        Some(is_on) => {
            if is_none && is_on && !resource.is_inherited {
                // An empty list selects nothing; one more path must not select everything else.
                paths.push(json!("!**"));
            }
            paths.push(json!(format!("{}{}", if is_on { '+' } else { '-' }, resource.path)));
            entry.insert(resource.kind.to_owned(), paths.into());
        }
        None if paths.is_empty() => drop(entry.shift_remove(resource.kind)),
        None => drop(entry.insert(resource.kind.to_owned(), paths.into())),
    }
    let is_empty_delta = entry.get("autoload") == Some(&json!(false)) && entry.len() == 2;
    match at {
        Some(at) if is_empty_delta => drop(entries.remove(at)),
        Some(at) => entries[at] = entry.into(),
        None if is_empty_delta => {}
        None => entries.push(entry.into()),
    }
    Some(entries.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_a(source: &str) -> bool {
        source == "npm:a"
    }

    fn resource(path: &str, is_inherited: bool) -> Resource {
        Resource {
            package: "npm:a".to_owned(),
            kind: "extensions",
            path: path.to_owned(),
            is_loaded: true,
            is_inherited,
            decision: None,
        }
    }

    #[test]
    fn decisions_are_written_as_pi_writes_them() {
        let (a, b) = (resource("extensions/a.ts", false), resource("extensions/b.ts", false));
        let off = decided(Some(&json!(["x", "npm:a"])), "npm:a", is_a, &a, Some(false)).unwrap();
        let expected = json!(["x", {"source": "npm:a", "extensions": ["-extensions/a.ts"]}]);
        assert_eq!(off, expected);
        let on = decided(Some(&off), "npm:a", is_a, &a, Some(true)).unwrap();
        assert_eq!(on[1]["extensions"], json!(["+extensions/a.ts"]));
        let both = decided(Some(&on), "npm:a", is_a, &b, Some(false)).unwrap();
        assert_eq!(both[1]["extensions"], json!(["+extensions/a.ts", "-extensions/b.ts"]));
        let none = json!([{"source": "npm:a", "extensions": []}]);
        let one = decided(Some(&none), "npm:a", is_a, &a, Some(true)).unwrap();
        assert_eq!(one[0]["extensions"], json!(["!**", "+extensions/a.ts"]));
    }

    #[test]
    fn a_project_changes_the_selection_of_the_user() {
        let a = resource("extensions/a.ts", true);
        let off = decided(None, "npm:a", is_a, &a, Some(false)).unwrap();
        let expected =
            json!([{"source": "npm:a", "autoload": false, "extensions": ["-extensions/a.ts"]}]);
        assert_eq!(off, expected);
        assert_eq!(
            decided(Some(&off), "npm:a", is_a, &a, None),
            Some(json!([])),
            "inherited again"
        );
    }

    #[test]
    fn the_key_goes_through_all_states() {
        let mut own = resource("a", false);
        assert_eq!(own.next(), Some(false));
        own.is_loaded = false;
        assert_eq!(own.next(), Some(true));
        let mut inherited = resource("a", true);
        let mut states = Vec::new();
        for _ in 0..3 {
            inherited.decision = inherited.next();
            states.push(inherited.decision);
        }
        assert_eq!(states, [Some(false), None, Some(false)]);
        assert_eq!(resource("skills/greet/SKILL.md", false).name(), "greet");
        assert_eq!(resource("prompts/review.md", false).name(), "review.md");
    }
}
