//! A directory with `package.json` and `node_modules`, and the changes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pi_fs::if_exists;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::journal::{self, Staging};
use super::lockfile::{self, Lockfile};
use super::manifest::{Manifest, strings_by_name};
use super::registry::Registry;
use super::resolve::resolve;
use super::spec::Spec;
use super::tree::{NodeId, Tree};
use super::unpack::{Bounds, unpack};
use crate::PackageError;

const MANIFEST: &str = "package.json";
const LOCK: &str = "package-lock.json";
/// The packages that are really there, as npm records them.
const HIDDEN_LOCK: &str = "node_modules/.package-lock.json";

/// An installation directory. The caller holds its lock while it changes.
#[derive(Debug)]
pub(crate) struct Project {
    root: PathBuf,
    /// The directory is a repository: its files are read and never written, except for
    /// `node_modules`.
    is_repository: bool,
}

/// A change of the direct dependencies.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Packages to install, with their spec.
    pub(crate) add: BTreeMap<String, Option<String>>,
    pub(crate) remove: BTreeSet<String>,
    /// The added packages do not follow the lock file.
    pub(crate) is_update: bool,
}

/// What a change did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// Packages that were installed or replaced, as `name@version`.
    pub added: Vec<String>,
    /// Number of packages that were removed.
    pub removed: usize,
    /// Packages whose install scripts did not run.
    pub with_scripts: Vec<String>,
    /// Optional packages that could not be installed, with the reason.
    pub skipped: Vec<String>,
}

impl Changed {
    /// Returns remarks on the change for the user.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.with_scripts.is_empty() {
            notes.push(format!(
                "install scripts never run; {} may not work without",
                self.with_scripts.join(", ")
            ));
        }
        let skipped = self.skipped.iter();
        notes.extend(skipped.map(|problem| format!("an optional package was left out: {problem}")));
        notes
    }
}

/// The files of a project.
struct State {
    package: Map<String, Value>,
    root: Manifest,
    lock: Lockfile,
    actual: Lockfile,
}

impl Project {
    /// Creates the project of the program's own installation directory.
    pub(crate) fn own(root: &Path) -> Self {
        Self { root: root.to_owned(), is_repository: false }
    }

    /// Creates the project of a repository.
    pub(crate) fn repository(root: &Path) -> Self {
        Self { root: root.to_owned(), is_repository: true }
    }

    /// Installs and removes direct dependencies.
    pub(crate) async fn change(
        &self,
        registry: &Registry,
        change: Change,
    ) -> Result<Changed, PackageError> {
        journal::recover(&self.root)?;
        let mut state = self.read()?;
        for (name, spec) in &change.add {
            let known = state.root.dependencies.get(name).cloned();
            let known = known.filter(|_| !change.is_update);
            let spec = spec.clone().or(known).unwrap_or_else(|| "latest".to_owned());
            state.root.dependencies.insert(name.clone(), spec);
        }
        state.root.dependencies.retain(|name, _| !change.remove.contains(name));
        let added: BTreeSet<String> = change.add.into_keys().collect();
        let none = BTreeSet::new();
        let fresh = if change.is_update { &added } else { &none };
        let mut tree = resolve(state.root.clone(), registry, &state.lock, fresh).await?;
        let mut wanted = tree.installed();
        let requested = match self.is_repository {
            true => (0..tree.len()).collect(),
            false => tree.reachable(&added),
        };
        let mut plan = Plan::new(&self.root, &tree, &wanted, &state.actual, &requested);
        let mut staging = Staging::new(&self.root)?;
        let mut changed = Changed::default();
        let failed = plan.download(registry, &tree, &staging).await?;
        let failed = plan.unpack(&tree, &staging, failed).await?;
        for (place, problem) in failed {
            changed.skipped.push(problem);
            let is_lost = |one: &String| *one == place || one.starts_with(&format!("{place}/"));
            wanted.retain(|one, _| !is_lost(one));
            plan.staged.retain(|one| !is_lost(&one.place));
        }
        for one in &plan.staged {
            let manifest = &tree.node(one.id).manifest;
            changed.added.push(title(manifest));
            if manifest.has_install_script {
                changed.with_scripts.push(title(manifest));
            }
        }
        changed.removed = plan.removed.len();
        self.commit(&mut state, &added, &tree, &wanted, &plan, &mut staging)?;
        tokio::task::spawn_blocking(move || staging.commit())
            .await
            .map_err(|error| PackageError::file(&self.root)(error.into()))??;
        Ok(changed)
    }

    fn read(&self) -> Result<State, PackageError> {
        let package = read_object(&self.root.join(MANIFEST))?;
        let package = match package {
            Some(package) => package,
            None => {
                let own = json!({ "name": "pi-extensions", "private": true });
                own.as_object().cloned().unwrap_or_default()
            }
        };
        let value = Value::Object(package.clone());
        let root = Manifest::from_registry(&value);
        // What is there is found out again if its record is damaged.
        let actual = Lockfile::read(&self.root.join(HIDDEN_LOCK)).unwrap_or_default();
        let mut lock = Lockfile::read(&self.root.join(LOCK))?;
        if lock.packages.is_empty() {
            lock = actual.clone();
        }
        Ok(State { package, root, lock, actual })
    }

    /// Prepares the files and the moves.
    fn commit(
        &self,
        state: &mut State,
        added: &BTreeSet<String>,
        tree: &Tree,
        wanted: &BTreeMap<String, NodeId>,
        plan: &Plan,
        staging: &mut Staging,
    ) -> Result<(), PackageError> {
        for place in &plan.removed {
            staging.remove(place);
        }
        for one in plan.staged.iter().filter(|one| !one.is_nested) {
            staging.place(&one.name, &one.place);
        }
        let entry = |id: NodeId| {
            let node = tree.node(id);
            node.manifest.to_lock(&node.name, node.is_optional)
        };
        let locked: BTreeMap<String, Value> =
            wanted.iter().map(|(place, id)| (place.clone(), entry(*id))).collect();
        let mut present = locked.clone();
        present.retain(|place, _| !plan.missing.contains(place));
        let name = state.root.name.clone();
        if !present.is_empty() || self.root.join("node_modules").exists() {
            let text = lockfile::text(&name, None, &present);
            staging.write("hidden-lock", HIDDEN_LOCK, &text)?;
        }
        if self.is_repository {
            return Ok(());
        }
        // A tag is saved as the range of the version that it led to.
        for name in added {
            let Some(spec) = state.root.dependencies.get_mut(name) else { continue };
            let id = wanted.get(&lockfile::join("", name));
            if let (Spec::Tag(_), Some(id)) = (Spec::parse(spec), id) {
                *spec = format!("^{}", tree.node(*id).manifest.version);
            }
        }
        let dependencies = json!(state.root.dependencies);
        state.package.insert("dependencies".to_owned(), dependencies.clone());
        let package = format!("{:#}\n", Value::Object(state.package.clone()));
        staging.write("package", MANIFEST, &package)?;
        let mut root = Map::new();
        root.insert("name".to_owned(), name.clone().into());
        root.insert("dependencies".to_owned(), dependencies);
        staging.write("lock", LOCK, &lockfile::text(&name, Some(root), &locked))
    }
}

/// Returns the names of the direct dependencies of an installation directory.
pub(crate) fn direct_dependencies(root: &Path) -> BTreeMap<String, String> {
    let package = read_object(&root.join(MANIFEST)).ok().flatten().unwrap_or_default();
    strings_by_name(package.get("dependencies").unwrap_or(&Value::Null))
}

/// Returns the version of the package in a directory.
pub fn installed_version(directory: &Path) -> Option<String> {
    let package = read_object(&directory.join(MANIFEST)).ok().flatten()?;
    package.get("version")?.as_str().map(str::to_owned)
}

fn title(manifest: &Manifest) -> String {
    format!("{}@{}", manifest.name, manifest.version)
}

fn read_object(path: &Path) -> Result<Option<Map<String, Value>>, PackageError> {
    let bytes = if_exists(fs::read(path)).map_err(PackageError::file(path))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let object = serde_json::from_slice(&bytes);
    object.map(Some).map_err(|error| PackageError::Damaged {
        path: path.to_owned(),
        problem: error.to_string(),
    })
}

/// The packages to download and to remove.
#[derive(Debug, Default)]
struct Plan {
    staged: Vec<Staged>,
    /// Places that are removed with everything below them.
    removed: Vec<String>,
    /// Places of packages that are not there and that the change does not ask for.
    missing: BTreeSet<String>,
}

/// A package to download.
#[derive(Debug)]
struct Staged {
    id: NodeId,
    place: String,
    /// Path in the staging directory.
    name: String,
    /// The package is inside of another staged one and moves with it.
    is_nested: bool,
}

/// Optional packages that failed: their places and the problems.
type Failed = Vec<(String, String)>;

impl Plan {
    fn new(
        root: &Path,
        tree: &Tree,
        wanted: &BTreeMap<String, NodeId>,
        actual: &Lockfile,
        requested: &BTreeSet<NodeId>,
    ) -> Self {
        let mut plan = Self::default();
        // Places are ordered, so that a package comes before those inside of it.
        for (place, id) in wanted {
            let manifest = &tree.node(*id).manifest;
            let container = plan.container(place);
            let is_there = actual.packages.get(place).is_some_and(|there| {
                let agrees = match (&there.integrity, &manifest.integrity) {
                    (Some(there), Some(wanted)) => there.agrees_with(wanted),
                    _ => false,
                };
                agrees
                    && there.name == manifest.name
                    && there.version == manifest.version
                    && installed_version(&root.join(place)).as_ref() == Some(&manifest.version)
            });
            let name = match container {
                Some(staged) => {
                    let rest = place.strip_prefix(&staged.place).unwrap_or(place);
                    format!("{}{rest}", staged.name)
                }
                None if is_there => continue,
                None if !requested.contains(id) => {
                    plan.missing.insert(place.clone());
                    continue;
                }
                None => format!("package-{id}"),
            };
            let is_nested = container.is_some();
            plan.staged.push(Staged { id: *id, place: place.clone(), name, is_nested });
        }
        let mut removed: Vec<String> = Vec::new();
        for place in actual.packages.keys().filter(|place| !wanted.contains_key(*place)) {
            let is_below = |other: &String| place.starts_with(&format!("{other}/"));
            if !removed.iter().any(is_below) && plan.container(place).is_none() {
                removed.push(place.clone());
            }
        }
        plan.removed = removed;
        plan
    }

    /// Returns the staged package that contains a place.
    fn container(&self, place: &str) -> Option<&Staged> {
        let mut at = place;
        loop {
            at = lockfile::parent(at);
            if at.is_empty() {
                return None;
            }
            if let Some(staged) = self.staged.iter().find(|staged| staged.place == at) {
                return Some(staged);
            }
        }
    }

    /// Downloads the archives. Fails if a required one cannot be downloaded.
    async fn download(
        &self,
        registry: &Registry,
        tree: &Tree,
        staging: &Staging,
    ) -> Result<Failed, PackageError> {
        let mut failed = Failed::new();
        let mut downloads = JoinSet::new();
        for one in &self.staged {
            let (registry, place, id) = (registry.clone(), one.place.clone(), one.id);
            let manifest = tree.node(id).manifest.clone();
            let to = archive(staging, id);
            downloads.spawn(async move { (registry.archive(&manifest, &to).await, place, id) });
        }
        while let Some(done) = downloads.join_next().await {
            match done {
                Ok((Ok(()), _, _)) => {}
                Ok((Err(error), place, id)) if tree.node(id).is_optional => {
                    failed.push((place, error.to_string()));
                }
                Ok((Err(error), _, _)) => return Err(error),
                Err(error) => return Err(PackageError::file(&staging.path(""))(error.into())),
            }
        }
        Ok(failed)
    }

    /// Unpacks the archives.
    async fn unpack(
        &self,
        tree: &Tree,
        staging: &Staging,
        mut failed: Failed,
    ) -> Result<Failed, PackageError> {
        struct Job {
            archive: PathBuf,
            to: PathBuf,
            place: String,
            manifest: Manifest,
            is_optional: bool,
        }
        let is_lost = |failed: &Failed, place: &str| {
            failed.iter().any(|(lost, _)| {
                place
                    .strip_prefix(lost.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let jobs: Vec<Job> = self
            .staged
            .iter()
            .map(|one| Job {
                archive: archive(staging, one.id),
                to: staging.path(&one.name),
                place: one.place.clone(),
                manifest: tree.node(one.id).manifest.clone(),
                is_optional: tree.node(one.id).is_optional,
            })
            .collect();
        let unpacking = tokio::task::spawn_blocking(move || {
            for job in jobs {
                if is_lost(&failed, &job.place) {
                    continue;
                }
                match unpack_one(&job.archive, &job.to, &job.manifest) {
                    Ok(()) => {}
                    Err(error) if job.is_optional => failed.push((job.place, error.to_string())),
                    Err(error) => return Err(error),
                }
            }
            Ok(failed)
        });
        match unpacking.await {
            Ok(result) => result,
            Err(error) => Err(PackageError::file(&staging.path(""))(error.into())),
        }
    }
}

fn archive(staging: &Staging, id: NodeId) -> PathBuf {
    staging.path(&format!("archive-{id}"))
}

/// Unpacks an archive and checks that it is the expected package.
fn unpack_one(archive: &Path, to: &Path, manifest: &Manifest) -> Result<(), PackageError> {
    let package = title(manifest);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(PackageError::file(parent))?;
    }
    let file = File::open(archive).map_err(PackageError::file(archive))?;
    let unpacked = unpack(io::BufReader::new(file), to, Bounds::default());
    unpacked.map_err(|source| PackageError::Archive { package: package.clone(), source })?;
    // The archive is not needed any more, and an installation may have many.
    fs::remove_file(archive).map_err(PackageError::file(archive))?;
    let value = read_object(&to.join(MANIFEST))?.unwrap_or_default();
    let found = Manifest::from_registry(&Value::Object(value));
    let version = |text: &str| super::version::Version::parse(text);
    let is_same = found.name == manifest.name
        && (found.version == manifest.version
            || version(&found.version)
                .is_some_and(|found| version(&manifest.version) == Some(found)));
    if !is_same {
        return Err(PackageError::OtherPackage { package, found: title(&found) });
    }
    Ok(())
}
