//! The dependency graph of the workspace, from cargo.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::TidyError;
use super::packages::Package;
use crate::repository;

/// The crates of the workspace and everything they depend on to be built.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The crates of this repository, with the paths of their manifests.
    pub(super) own: BTreeMap<String, String>,
    /// The direct dependencies of each package by name, for all targets, without those of tests.
    /// Several versions of one package count as one.
    pub(super) edges: BTreeMap<String, BTreeSet<String>>,
    /// All packages, those of the repository included.
    pub(super) packages: Vec<Package>,
}

impl Graph {
    /// The direct dependencies of a package.
    pub(super) fn direct(&self, name: &str) -> impl Iterator<Item = &str> {
        self.edges.get(name).into_iter().flatten().map(String::as_str)
    }

    /// A path of dependencies from `from` to `to`, both included, if there is one.
    pub(super) fn path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut paths = vec![vec![from.to_owned()]];
        let mut seen = BTreeSet::from([from.to_owned()]);
        while let Some(path) = paths.pop() {
            let last = path.last().map_or("", String::as_str);
            if last == to && path.len() > 1 {
                return Some(path);
            }
            for next in self.direct(last) {
                if seen.insert(next.to_owned()) {
                    paths.push(path.iter().cloned().chain([next.to_owned()]).collect());
                }
            }
        }
        None
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
    workspace_members: BTreeSet<String>,
    workspace_root: String,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Described {
    id: String,
    manifest_path: String,
    #[serde(flatten)]
    package: Package,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None` is an ordinary dependency.
    kind: Option<String>,
}

/// The graph of the workspace, with the default features of its crates.
pub(super) fn whole() -> Result<Graph, TidyError> {
    let text = cargo("metadata", &["--format-version", "1"])?;
    read(&text).map_err(|error| TidyError::Cargo {
        command: "metadata",
        problem: format!("the output is invalid: {error}"),
    })
}

/// The names of all packages that `package` is built from without its default features.
pub(super) fn without_default_features(package: &str) -> Result<BTreeSet<String>, TidyError> {
    let rest = ["-p", package, "--no-default-features", "-e", "normal", "--prefix", "none"];
    Ok(first_words(&cargo("tree", &rest)?))
}

fn read(metadata: &str) -> Result<Graph, serde_json::Error> {
    let metadata: Metadata = serde_json::from_str(metadata)?;
    let names: BTreeMap<&str, &Described> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let name =
        |id: &str| names.get(id).map_or_else(|| id.to_owned(), |found| found.package.name.clone());
    let mut graph = Graph::default();
    for id in &metadata.workspace_members {
        let path = names.get(id.as_str()).map_or("", |package| package.manifest_path.as_str());
        let path = path.strip_prefix(&metadata.workspace_root).unwrap_or(path);
        let path = path.replace('\\', "/").trim_start_matches('/').to_owned();
        graph.own.insert(name(id), path);
    }
    for node in &metadata.resolve.nodes {
        let edges = graph.edges.entry(name(&node.id)).or_default();
        let is_normal = |dependency: &&Dependency| {
            dependency.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"))
        };
        edges.extend(node.deps.iter().filter(is_normal).map(|dependency| name(&dependency.pkg)));
    }
    graph.packages = metadata.packages.into_iter().map(|described| described.package).collect();
    Ok(graph)
}

fn first_words(tree: &str) -> BTreeSet<String> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Runs cargo offline, and with the network only if something has not been downloaded yet.
fn cargo(command: &'static str, rest: &[&str]) -> Result<String, TidyError> {
    let failed = |problem: String| TidyError::Cargo { command, problem };
    let mut problem = String::new();
    for extra in [&["--offline"][..], &[]] {
        let output =
            repository::cargo().args([command, "--locked"]).args(rest).args(extra).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        problem = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    Err(failed(problem))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_becomes_a_graph_of_names() {
        let package = |id: &str| json!({"id": id, "name": id.to_uppercase(), "version": "1.0.0", "license": null, "manifest_path": format!("r/{id}/Cargo.toml")});
        let needs =
            |id: &str, kind: Option<&str>| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("a"), package("b"), package("c"), package("d")],
            "workspace_members": ["a"], "workspace_root": "r",
            "resolve": {"nodes": [
                {"id": "a", "deps": [needs("b", None), needs("d", Some("dev"))]},
                {"id": "b", "deps": [needs("c", Some("build"))]},
                {"id": "c", "deps": []},
                {"id": "d", "deps": []},
            ]},
        });
        let graph = read(&metadata.to_string()).unwrap();
        assert_eq!(graph.own, BTreeMap::from([("A".to_owned(), "a/Cargo.toml".to_owned())]));
        assert_eq!(graph.direct("A").collect::<Vec<_>>(), ["B"]);
        assert_eq!(graph.path("A", "C").unwrap(), ["A", "B", "C"]);
        assert_eq!(graph.path("A", "D"), None, "a dependency of the tests does not count");
        assert_eq!(graph.path("A", "A"), None);
    }

    #[test]
    fn trees_become_names() {
        let names = first_words("a v1.0.0 (path)\nb v2.0.0 (*)\n\n");
        assert_eq!(names, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    }
}
