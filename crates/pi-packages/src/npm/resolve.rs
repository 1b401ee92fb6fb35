//! Chooses the versions of all dependencies, and builds the tree.

use std::collections::{BTreeSet, HashMap};

use pi_config::resources::is_npm_name;
use tokio::task::JoinSet;

use super::lockfile::Lockfile;
use super::manifest::{Manifest, Platform};
use super::registry::{Packument, Registry};
use super::spec::Spec;
use super::tree::{NodeId, Tree};
use crate::PackageError;

/// Most packages of one installation.
const MAX_PACKAGES: usize = 5_000;

/// Returns true for a package that the program itself provides to extensions. A copy in
/// `node_modules` would never be loaded.
pub(crate) fn is_provided(name: &str) -> bool {
    let scoped = ["@earendil-works/", "@mariozechner/"];
    match scoped.iter().find_map(|scope| name.strip_prefix(scope)) {
        Some(own) => matches!(own, "pi-ai" | "pi-agent-core" | "pi-coding-agent" | "pi-tui"),
        None => matches!(name, "typebox" | "@sinclair/typebox"),
    }
}

/// A resolution in progress.
struct Resolver<'a> {
    registry: &'a Registry,
    lock: &'a Lockfile,
    /// Direct dependencies that do not follow the lock file.
    fresh: &'a BTreeSet<String>,
    platform: Platform,
    tree: Tree,
    known: HashMap<String, Packument>,
    failed: HashMap<String, PackageError>,
}

/// A dependency that is not resolved yet.
#[derive(Debug, Clone)]
struct Wanted {
    from: NodeId,
    name: String,
    spec: Spec,
    text: String,
    is_optional: bool,
}

impl Wanted {
    /// Returns the name of the package in the registry.
    fn package(&self) -> &str {
        match &self.spec {
            Spec::Alias { name, .. } => name,
            _ => &self.name,
        }
    }
}

/// Resolves the dependencies of `root`. Versions of the lock file are kept if they fit, except for
/// the direct dependencies in `fresh`.
pub(crate) async fn resolve(
    root: Manifest,
    registry: &Registry,
    lock: &Lockfile,
    fresh: &BTreeSet<String>,
) -> Result<Tree, PackageError> {
    let mut resolver = Resolver {
        registry,
        lock,
        fresh,
        platform: Platform::current(),
        tree: Tree::new(root),
        known: HashMap::new(),
        failed: HashMap::new(),
    };
    // Level by level: what is near the root is placed first, and one level is fetched at once.
    let mut level = vec![0];
    while !level.is_empty() {
        let wanted: Vec<Wanted> = level.iter().flat_map(|id| resolver.wanted(*id)).collect();
        resolver.fetch(&wanted).await;
        let first_new = resolver.tree.len();
        for one in wanted {
            resolver.settle(&one)?;
        }
        if resolver.tree.len() > MAX_PACKAGES {
            return Err(PackageError::TooManyPackages(MAX_PACKAGES));
        }
        level = (first_new..resolver.tree.len()).collect();
    }
    Ok(resolver.tree)
}

impl Resolver<'_> {
    /// Returns the dependencies of a package that have to be installed.
    fn wanted(&self, from: NodeId) -> Vec<Wanted> {
        if self.tree.is_removed(from) {
            return Vec::new();
        }
        let manifest = &self.tree.node(from).manifest;
        let required = manifest.dependencies.iter().map(|one| (one, false));
        let optional = manifest.optional.iter().map(|one| (one, true));
        let is_needed = |name: &str| {
            (from == 0 || !is_provided(name)) && !manifest.bundled.iter().any(|one| one == name)
        };
        let all = required.chain(optional).filter(|((name, _), _)| is_needed(name));
        all.map(|((name, text), is_optional)| {
            let spec = Spec::parse(text);
            Wanted { from, name: name.clone(), spec, text: text.clone(), is_optional }
        })
        .collect()
    }

    /// Fetches the metadata that a level needs.
    async fn fetch(&mut self, wanted: &[Wanted]) {
        let mut names = BTreeSet::new();
        for one in wanted {
            let package = one.package();
            let is_new = !self.known.contains_key(package) && !self.failed.contains_key(package);
            let is_there = self.tree.find(one.from, &one.name, &one.spec).is_some();
            if is_new && !is_there && is_npm_name(package) && self.locked(one).is_none() {
                names.insert(package.to_owned());
            }
        }
        let mut fetching = JoinSet::new();
        for name in names {
            let registry = self.registry.clone();
            fetching.spawn(async move { (registry.packument(&name).await, name) });
        }
        while let Some(done) = fetching.join_next().await {
            match done {
                Ok((Ok(packument), name)) => drop(self.known.insert(name, packument)),
                Ok((Err(error), name)) => drop(self.failed.insert(name, error)),
                // A task is neither aborted nor does it panic; its name stays unknown.
                Err(_) => {}
            }
        }
    }

    /// Returns the version of the lock file for a dependency, and the place of the package that
    /// contains it there.
    fn locked(&self, wanted: &Wanted) -> Option<(String, Manifest)> {
        if wanted.from == 0 && self.fresh.contains(&wanted.name) {
            return None;
        }
        let place = self.tree.place(wanted.from);
        let (place, found) = self.lock.find(&place, &wanted.name)?;
        let version = super::version::Version::parse(&found.version)?;
        let fits = wanted.spec.accepts(&wanted.name, &found.name, &version);
        // Without a checksum the entry is of no use.
        let is_complete = found.integrity.is_some() && found.archive.is_some();
        (fits && is_complete).then(|| (place.to_owned(), found.clone()))
    }

    /// Resolves one dependency.
    fn settle(&mut self, wanted: &Wanted) -> Result<(), PackageError> {
        // A neighbor that could not be installed may have taken its dependent with it.
        if self.tree.is_removed(wanted.from) {
            return Ok(());
        }
        let Wanted { from, name, spec, is_optional, .. } = wanted;
        let found = match self.tree.find(*from, name, spec) {
            Some(found) => Ok(found),
            None => self.choose(wanted).map(|(highest, manifest)| {
                self.tree.add(*from, name, manifest, *is_optional, &highest)
            }),
        };
        match found {
            Ok(id) => {
                self.tree.connect(*from, name, spec.clone(), *is_optional, id);
                Ok(())
            }
            Err(_) if *is_optional => Ok(()),
            Err(_) if self.tree.node(*from).is_optional => {
                self.tree.remove(*from);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Chooses a version. Returns it with the highest place for it: packages of the lock file stay
    /// where they are.
    fn choose(&mut self, wanted: &Wanted) -> Result<(String, Manifest), PackageError> {
        let package = wanted.package();
        if matches!(wanted.spec, Spec::Unsupported(_)) || !is_npm_name(&wanted.name) {
            let of = &self.tree.node(wanted.from).manifest;
            return Err(PackageError::UnsupportedDependency {
                name: wanted.name.clone(),
                spec: wanted.text.clone(),
                of: of.name.clone(),
            });
        }
        let (highest, manifest) = match (self.locked(wanted), self.known.get(package)) {
            (Some(locked), _) => locked,
            (None, Some(packument)) => {
                let picked = packument.pick(package, &wanted.spec)?;
                self.check_unchanged(&picked)?;
                (String::new(), picked)
            }
            (None, None) => {
                return Err(self.failed.remove(package).unwrap_or_else(|| {
                    let problem = "it could not be fetched".to_owned();
                    PackageError::Metadata { name: package.to_owned(), problem }
                }));
            }
        };
        if !manifest.fits(&self.platform) {
            let package = format!("{}@{}", manifest.name, manifest.version);
            return Err(PackageError::Platform { package });
        }
        Ok((highest, manifest))
    }

    /// Fails if the lock file has another checksum for the same version: versions never change.
    fn check_unchanged(&self, picked: &Manifest) -> Result<(), PackageError> {
        let is_same = |one: &&Manifest| one.name == picked.name && one.version == picked.version;
        let Some(locked) = self.lock.packages.values().find(is_same) else { return Ok(()) };
        match (&locked.integrity, &picked.integrity) {
            (Some(locked), Some(found)) if !locked.agrees_with(found) => {
                Err(PackageError::Changed {
                    package: format!("{}@{}", picked.name, picked.version),
                    locked: locked.to_string(),
                    found: found.to_string(),
                })
            }
            _ => Ok(()),
        }
    }
}
