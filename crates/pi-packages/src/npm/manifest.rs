//! What a registry, a lock file and `package.json` say about one version of a package.
//!
//! Old packages have fields of every shape, so fields are read leniently: a field of the wrong type
//! counts as missing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::integrity::Integrity;

/// A version of a package.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Address of the archive.
    pub(crate) archive: Option<String>,
    pub(crate) integrity: Option<Integrity>,
    pub(crate) dependencies: BTreeMap<String, String>,
    pub(crate) optional: BTreeMap<String, String>,
    /// Names of dependencies that the archive contains.
    pub(crate) bundled: Vec<String>,
    pub(crate) os: Vec<String>,
    pub(crate) cpu: Vec<String>,
    pub(crate) libc: Vec<String>,
    /// The package asks for scripts to run at its installation. They never run.
    pub(crate) has_install_script: bool,
    pub(crate) deprecated: Option<String>,
    /// Fields that a lock file repeats and nothing here uses.
    pub(crate) extra: Map<String, Value>,
}

/// Fields of a manifest that npm copies into the lock file.
const COPIED: [&str; 6] =
    ["license", "bin", "engines", "peerDependencies", "peerDependenciesMeta", "funding"];

impl Manifest {
    /// Reads a version of a registry, or `package.json`.
    pub(crate) fn from_registry(value: &Value) -> Self {
        let mut manifest = Self::common(value);
        let dist = &value["dist"];
        manifest.archive = text(&dist["tarball"]);
        let shasum = || Integrity::from_shasum(dist["shasum"].as_str()?);
        manifest.integrity = dist["integrity"].as_str().and_then(Integrity::parse).or_else(shasum);
        let scripts = &value["scripts"];
        let runs = |name: &str| scripts[name].as_str().is_some_and(|script| !script.is_empty());
        manifest.has_install_script = value["hasInstallScript"].as_bool().unwrap_or(false)
            || ["preinstall", "install", "postinstall"].into_iter().any(runs);
        manifest.deprecated = text(&value["deprecated"]);
        manifest
    }

    /// Reads an entry of a lock file. `name` is that of its directory.
    pub(crate) fn from_lock(name: &str, entry: &Value) -> Self {
        let mut manifest = Self::common(entry);
        if manifest.name.is_empty() {
            name.clone_into(&mut manifest.name);
        }
        manifest.archive = text(&entry["resolved"]);
        manifest.integrity = entry["integrity"].as_str().and_then(Integrity::parse);
        manifest.has_install_script = entry["hasInstallScript"].as_bool().unwrap_or(false);
        manifest.deprecated = text(&entry["deprecated"]);
        manifest
    }

    fn common(value: &Value) -> Self {
        let optional = strings_by_name(&value["optionalDependencies"]);
        let mut dependencies = strings_by_name(&value["dependencies"]);
        // Registries list optional dependencies in both.
        dependencies.retain(|name, _| !optional.contains_key(name));
        let bundled = match [&value["bundleDependencies"], &value["bundledDependencies"]] {
            [Value::Bool(true), _] | [_, Value::Bool(true)] => {
                dependencies.keys().chain(optional.keys()).cloned().collect()
            }
            [list @ Value::Array(_), _] | [_, list] => strings(list),
        };
        let mut extra = Map::new();
        for key in COPIED {
            if let Some(found) = value.get(key) {
                extra.insert(key.to_owned(), found.clone());
            }
        }
        Self {
            name: text(&value["name"]).unwrap_or_default(),
            version: text(&value["version"]).unwrap_or_default(),
            dependencies,
            optional,
            bundled,
            os: strings(&value["os"]),
            cpu: strings(&value["cpu"]),
            libc: strings(&value["libc"]),
            extra,
            ..Self::default()
        }
    }

    /// Returns the entry of the lock file. `directory` is the name under which it is installed.
    pub(crate) fn to_lock(&self, directory: &str, is_optional: bool) -> Value {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        if directory != self.name {
            put("name", self.name.clone().into());
        }
        put("version", self.version.clone().into());
        if let Some(archive) = &self.archive {
            put("resolved", archive.clone().into());
        }
        if let Some(integrity) = &self.integrity {
            put("integrity", integrity.to_string().into());
        }
        for (key, list) in [("cpu", &self.cpu), ("libc", &self.libc), ("os", &self.os)] {
            if !list.is_empty() {
                put(key, list.clone().into());
            }
        }
        if self.has_install_script {
            put("hasInstallScript", true.into());
        }
        if let Some(deprecated) = &self.deprecated {
            put("deprecated", deprecated.clone().into());
        }
        if is_optional {
            put("optional", true.into());
        }
        if !self.bundled.is_empty() {
            put("bundleDependencies", self.bundled.clone().into());
        }
        let maps = [("dependencies", &self.dependencies), ("optionalDependencies", &self.optional)];
        for (key, map) in maps {
            if !map.is_empty() {
                let map: Map<String, Value> =
                    map.iter().map(|(name, spec)| (name.clone(), spec.clone().into())).collect();
                put(key, map.into());
            }
        }
        for (key, value) in &self.extra {
            put(key, value.clone());
        }
        entry.into()
    }

    /// Returns true if the package works on a platform.
    pub(crate) fn fits(&self, platform: &Platform) -> bool {
        allows(&self.os, platform.os)
            && allows(&self.cpu, platform.cpu)
            && platform.libc.is_none_or(|libc| allows(&self.libc, libc))
    }
}

/// The platform, with the names of Node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Platform {
    os: &'static str,
    cpu: &'static str,
    libc: Option<&'static str>,
}

impl Platform {
    /// Returns the platform of this program. A program that is linked statically runs with either
    /// C library; the machine has the common one in all likelihood.
    pub(crate) fn current() -> Self {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        };
        let cpu = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            "x86" => "ia32",
            other => other,
        };
        Self { os, cpu, libc: (os == "linux").then_some("glibc") }
    }
}

/// Evaluates a list such as `["linux", "darwin"]` or `["!win32"]`.
fn allows(list: &[String], name: &str) -> bool {
    let is_refused = list.iter().any(|one| one.strip_prefix('!') == Some(name));
    let names = |one: &&String| !one.starts_with('!');
    let is_named = list.iter().any(|one| one == name || one == "any");
    !is_refused && (is_named || !list.iter().any(|one| names(&one)))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Reads a list of strings; one string counts as a list.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(list) => list.iter().filter_map(text).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn strings_by_name(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(name, spec)| Some((name.clone(), text(spec)?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_the_wrong_type_are_missing() {
        let manifest = Manifest::from_registry(&json!({
            "name": "a", "version": "1.0.0", "dependencies": [], "optionalDependencies": {"x": 1},
            "os": "linux", "cpu": {}, "scripts": "none", "dist": "none", "bundledDependencies": 5,
        }));
        let expected = Manifest {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            os: vec!["linux".to_owned()],
            ..Manifest::default()
        };
        assert_eq!(manifest, expected);
    }

    #[test]
    fn a_lock_entry_has_what_a_registry_says() {
        let manifest = Manifest::from_registry(&json!({
            "name": "a", "version": "1.0.0", "license": "MIT", "bin": {"a": "a.js"},
            "dependencies": {"b": "^1", "c": "1"}, "optionalDependencies": {"c": "1"},
            "bundledDependencies": true, "scripts": {"postinstall": "node x"}, "os": ["!win32"],
            "dist": {"tarball": "https://h/a.tgz", "shasum": "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        }));
        assert!(manifest.has_install_script);
        assert_eq!(manifest.bundled, ["b", "c"]);
        let entry = manifest.to_lock("alias", true);
        let again = Manifest::from_lock("alias", &entry);
        assert_eq!(again, manifest);
        assert_eq!(entry["optional"], json!(true));
    }

    #[test]
    fn platforms_are_matched() {
        let platform = Platform { os: "linux", cpu: "x64", libc: Some("glibc") };
        let fits = |os: &[&str], cpu: &[&str], libc: &[&str]| {
            let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let (os, cpu, libc) = (list(os), list(cpu), list(libc));
            Manifest { os, cpu, libc, ..Manifest::default() }.fits(&platform)
        };
        assert!(fits(&[], &[], &[]) && fits(&["linux", "darwin"], &["x64"], &["glibc"]));
        assert!(fits(&["!win32"], &["any"], &[]) && !fits(&["!linux"], &[], &[]));
        assert!(!fits(&["darwin"], &[], &[]) && !fits(&[], &["arm64"], &[]));
        assert!(!fits(&[], &[], &["musl"]));
    }
}
