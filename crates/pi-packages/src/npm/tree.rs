//! The tree of packages in `node_modules`: where each one goes, and which one a module finds.
//!
//! Packages are placed as high as possible, so that they are shared, and below a package that needs
//! another version. Pure: the versions are chosen by `resolve`.

use std::collections::{BTreeMap, BTreeSet};

use super::lockfile::join;
use super::manifest::Manifest;
use super::spec::Spec;
use super::version::Version;

/// Index of a node. The root is 0.
pub(crate) type NodeId = usize;

#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

/// A package in its place.
#[derive(Debug)]
pub(crate) struct Node {
    /// Name of the directory, which differs from that of the package for an alias.
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
    version: Option<Version>,
    parent: Option<NodeId>,
    children: BTreeMap<String, NodeId>,
    dependencies: BTreeMap<String, Dependency>,
    /// The package may be missing: only optional dependencies lead to it.
    pub(crate) is_optional: bool,
    is_removed: bool,
}

/// A dependency that was resolved.
#[derive(Debug)]
struct Dependency {
    spec: Spec,
    is_optional: bool,
    to: NodeId,
}

impl Tree {
    /// Creates a tree with the root only.
    pub(crate) fn new(root: Manifest) -> Self {
        let mut tree = Self::default();
        tree.nodes.push(Node {
            name: String::new(),
            manifest: root,
            version: None,
            parent: None,
            children: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            is_optional: false,
            is_removed: false,
        });
        tree
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the place of a node; empty for the root.
    pub(crate) fn place(&self, id: NodeId) -> String {
        match self.nodes[id].parent {
            Some(parent) => join(&self.place(parent), &self.nodes[id].name),
            None => String::new(),
        }
    }

    /// Returns the package that a module of `from` finds under a name, if it fits.
    pub(crate) fn find(&self, from: NodeId, name: &str, spec: &Spec) -> Option<NodeId> {
        let found = self.visible(from, name)?;
        self.accepts(found, name, spec).then_some(found)
    }

    fn visible(&self, from: NodeId, name: &str) -> Option<NodeId> {
        let mut at = Some(from);
        while let Some(id) = at {
            if let Some(child) = self.nodes[id].children.get(name) {
                return Some(*child);
            }
            at = self.nodes[id].parent;
        }
        None
    }

    fn accepts(&self, id: NodeId, name: &str, spec: &Spec) -> bool {
        let node = &self.nodes[id];
        let version = node.version.as_ref();
        version.is_some_and(|version| spec.accepts(name, &node.manifest.name, version))
    }

    /// Records that a dependency is resolved by a node.
    pub(crate) fn connect(
        &mut self,
        from: NodeId,
        name: &str,
        spec: Spec,
        is_optional: bool,
        to: NodeId,
    ) {
        let dependency = Dependency { spec, is_optional, to };
        self.nodes[from].dependencies.insert(name.to_owned(), dependency);
        if !is_optional && !self.nodes[from].is_optional {
            self.require(to);
        }
    }

    /// Marks a package, and everything that it requires, as required.
    fn require(&mut self, id: NodeId) {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut self.nodes[id].is_optional, false) {
                let required = self.nodes[id].dependencies.values().filter(|one| !one.is_optional);
                pending.extend(required.map(|one| one.to));
            }
        }
    }

    /// Adds a package for `from`, as high as possible, but not above the place `highest`.
    pub(crate) fn add(
        &mut self,
        from: NodeId,
        name: &str,
        manifest: Manifest,
        is_optional: bool,
        highest: &str,
    ) -> NodeId {
        let version = Version::parse(&manifest.version);
        let mut parent = from;
        while let Some(above) = self.nodes[parent].parent {
            if self.place(parent) == highest {
                break;
            }
            let is_taken = self.nodes[above].children.contains_key(name)
                || self.nodes[above].manifest.bundled.iter().any(|bundled| bundled == name);
            if is_taken || self.hides(above, name, &manifest.name, version.as_ref()) {
                break;
            }
            parent = above;
        }
        let id = self.nodes.len();
        let is_optional = is_optional || self.nodes[from].is_optional;
        self.nodes.push(Node {
            name: name.to_owned(),
            manifest,
            version,
            parent: Some(parent),
            children: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            is_optional,
            is_removed: false,
        });
        self.nodes[parent].children.insert(name.to_owned(), id);
        id
    }

    /// Returns true if a package in `parent` would hide one that a module below `parent` needs.
    fn hides(&self, parent: NodeId, name: &str, package: &str, version: Option<&Version>) -> bool {
        let fits = |dependency: &Dependency| {
            version.is_some_and(|version| dependency.spec.accepts(name, package, version))
        };
        (0..self.nodes.len()).filter(|id| self.is_within(*id, parent)).any(|id| {
            self.nodes[id].dependencies.get(name).is_some_and(|dependency| {
                !self.is_within(dependency.to, parent) && !fits(dependency)
            })
        })
    }

    /// Returns true for the ancestor itself and everything below it.
    fn is_within(&self, id: NodeId, ancestor: NodeId) -> bool {
        let mut at = Some(id);
        while let Some(id) = at {
            if id == ancestor {
                return true;
            }
            at = self.nodes[id].parent;
        }
        false
    }

    /// Removes an optional package whose dependencies cannot be installed.
    pub(crate) fn remove(&mut self, id: NodeId) {
        if let Some(parent) = self.nodes[id].parent {
            let name = self.nodes[id].name.clone();
            self.nodes[parent].children.remove(&name);
        }
        self.nodes[id].is_removed = true;
    }

    /// Returns true if the node or one that contains it was removed.
    pub(crate) fn is_removed(&self, id: NodeId) -> bool {
        let mut at = Some(id);
        while let Some(id) = at {
            if self.nodes[id].is_removed {
                return true;
            }
            at = self.nodes[id].parent;
        }
        false
    }

    /// Returns the packages that direct dependencies need, with the dependencies themselves.
    pub(crate) fn reachable(&self, names: &BTreeSet<String>) -> BTreeSet<NodeId> {
        let direct = self.nodes[0].dependencies.iter().filter(|(name, _)| names.contains(*name));
        let mut pending: Vec<NodeId> = direct.map(|(_, one)| one.to).collect();
        let mut reached = BTreeSet::new();
        while let Some(id) = pending.pop() {
            if reached.insert(id) {
                pending.extend(self.nodes[id].dependencies.values().map(|one| one.to));
            }
        }
        reached
    }

    /// Returns the packages to install by their place. Optional packages that lack a required
    /// dependency are left out, and so is what only removed packages need.
    pub(crate) fn installed(&mut self) -> BTreeMap<String, NodeId> {
        loop {
            let is_broken = |id: &NodeId| {
                let mut required =
                    self.nodes[*id].dependencies.values().filter(|one| !one.is_optional);
                *id != 0 && !self.is_removed(*id) && required.any(|one| self.is_removed(one.to))
            };
            let broken: Vec<NodeId> = (0..self.nodes.len()).filter(is_broken).collect();
            if broken.is_empty() {
                break;
            }
            broken.into_iter().for_each(|id| self.remove(id));
        }
        let mut reached = vec![false; self.nodes.len()];
        let mut pending = vec![0];
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut reached[id], true) || self.is_removed(id) {
                continue;
            }
            pending.extend(self.nodes[id].dependencies.values().map(|one| one.to));
        }
        let ids = (1..self.nodes.len()).filter(|id| reached[*id] && !self.is_removed(*id));
        ids.map(|id| (self.place(id), id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, version: &str) -> Manifest {
        let (name, version) = (name.to_owned(), version.to_owned());
        Manifest { name, version, ..Manifest::default() }
    }

    /// Adds `name@version` for a dependency, or connects it with a package that fits.
    fn need(tree: &mut Tree, from: NodeId, name: &str, spec: &str, version: &str) -> NodeId {
        let spec = Spec::parse(spec);
        let id = match tree.find(from, name, &spec) {
            Some(found) => found,
            None => tree.add(from, name, manifest(name, version), false, ""),
        };
        tree.connect(from, name, spec, false, id);
        id
    }

    #[test]
    fn packages_are_shared_and_nested_on_conflict() {
        let mut tree = Tree::new(manifest("root", "0.0.0"));
        let a = need(&mut tree, 0, "a", "1", "1.0.0");
        let b = need(&mut tree, 0, "b", "1", "1.0.0");
        need(&mut tree, a, "c", "^1", "1.5.0");
        need(&mut tree, b, "c", "^2", "2.0.0");
        need(&mut tree, b, "d", "1", "1.0.0");
        let places: Vec<String> = tree.installed().into_keys().collect();
        assert_eq!(
            places,
            [
                "node_modules/a",
                "node_modules/b",
                "node_modules/b/node_modules/c",
                "node_modules/c",
                "node_modules/d",
            ]
        );
    }

    #[test]
    fn a_package_hides_none_that_is_needed_below() {
        let mut tree = Tree::new(manifest("root", "0.0.0"));
        need(&mut tree, 0, "x", "1", "1.0.0");
        let a = need(&mut tree, 0, "a", "1", "1.0.0");
        need(&mut tree, 0, "y", "1", "1.0.0");
        // The root has another `y`, so that of `a` is below it. Both it and `deep` use the root's
        // `x`.
        let y = need(&mut tree, a, "y", "2", "2.0.0");
        need(&mut tree, 0, "deep", "1", "1.0.0");
        let deep = need(&mut tree, y, "deep", "2", "2.0.0");
        need(&mut tree, y, "x", "1", "1.0.0");
        assert_eq!(tree.place(deep), "node_modules/a/node_modules/deep");
        let other = need(&mut tree, deep, "x", "2", "2.0.0");
        assert_eq!(tree.place(other), "node_modules/a/node_modules/deep/node_modules/x");
    }

    #[test]
    fn a_broken_optional_package_is_left_out_with_its_dependencies() {
        let mut tree = Tree::new(manifest("root", "0.0.0"));
        let keep = need(&mut tree, 0, "keep", "1", "1.0.0");
        let optional = tree.add(0, "optional", manifest("optional", "1.0.0"), true, "");
        tree.connect(0, "optional", Spec::parse("1"), true, optional);
        let only = need(&mut tree, optional, "only", "1", "1.0.0");
        let shared = need(&mut tree, optional, "shared", "1", "1.0.0");
        need(&mut tree, keep, "shared", "1", "1.0.0");
        assert!(tree.node(only).is_optional && !tree.node(shared).is_optional);
        let broken = need(&mut tree, optional, "broken", "1", "1.0.0");
        tree.remove(broken);
        let places: Vec<String> = tree.installed().into_keys().collect();
        assert_eq!(places, ["node_modules/keep", "node_modules/shared"]);
    }
}
