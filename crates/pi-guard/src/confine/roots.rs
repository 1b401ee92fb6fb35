//! Which parts of the writable roots can be written, given what in them is protected.
//!
//! Only looks at the file system; that what it saw still holds when it is used follows from who
//! can change it: a confined command cannot, and nobody else is guarded against.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ConfineError, Confinement, git};

/// What shells and desktops run when they start, in a home, where they find programs, and what
/// leads `git` and `ssh` to run something.
pub(super) const START_UP: &[&str] = &[
    ".bash_aliases",
    ".bash_completion",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cargo/bin",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/systemd",
    ".gitconfig",
    ".inputrc",
    ".kshrc",
    ".local/bin",
    ".login",
    ".pam_environment",
    ".profile",
    ".ssh",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// One writable root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// Its real path.
    pub path: PathBuf,
    /// Protected, and there.
    pub present: Vec<PathBuf>,
    /// Protected, and not there: nobody may make it. Only directories can stand in for these.
    pub missing: Vec<PathBuf>,
    /// Protected files that are not there: an empty file in their place would do harm, so nothing
    /// at all can be made where they would be.
    pub absent: Vec<PathBuf>,
}

impl Root {
    #[cfg(any(target_os = "linux", test))]
    fn protected(&self) -> impl Iterator<Item = &PathBuf> {
        self.present.iter().chain(&self.missing).chain(&self.absent)
    }

    /// The directories below the root on the way to something protected or in `others`, the root
    /// not included.
    #[cfg(target_os = "linux")]
    pub(super) fn ways(&self, others: &[PathBuf]) -> Vec<PathBuf> {
        let mut ways: Vec<PathBuf> = self
            .protected()
            .chain(others)
            .flat_map(|path| path.ancestors().skip(1))
            .filter(|way| way.starts_with(&self.path) && *way != self.path)
            .map(Path::to_owned)
            .collect();
        ways.sort();
        ways.dedup();
        ways
    }

    /// What can be given as a whole where mounts protect the rest: the root, or, where files are
    /// absent that must stay so, what is beside these. This is
    /// for Landlock where it can be: a home may have more files than a view can have mounts.
    pub(super) fn beside_absent(&self) -> Vec<PathBuf> {
        let mut given = Vec::new();
        let absent: Vec<&Path> = self.absent.iter().map(PathBuf::as_path).collect();
        without(&self.path, &absent, &mut given);
        given
    }

    /// What is missing and could be made, so that something must be put in its place.
    pub(super) fn covered(&self) -> Vec<PathBuf> {
        let given = self.beside_absent();
        let could = |path: &&PathBuf| given.iter().any(|given| path.starts_with(given));
        self.missing.iter().filter(could).cloned().collect()
    }

    /// What can be given as a whole so that nothing protected is given: the root if nothing in it
    /// is, else those of its children, and so on. What is created later is not among it.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn narrow(&self) -> Vec<PathBuf> {
        let mut given = Vec::new();
        let protected: Vec<&Path> = self.protected().map(PathBuf::as_path).collect();
        without(&self.path, &protected, &mut given);
        given
    }
}

/// Everything below `path` except what is in `excluded`, as few paths as possible.
pub(super) fn without(path: &Path, excluded: &[&Path], given: &mut Vec<PathBuf>) {
    if excluded.iter().any(|excluded| path.starts_with(excluded)) {
        return;
    }
    if !excluded.iter().any(|excluded| excluded.starts_with(path)) {
        given.push(path.to_owned());
        return;
    }
    // What cannot be listed is not given.
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // A link would give what it leads to.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            without(&entry.path(), excluded, given);
        }
    }
}

/// The real path of a root, which must be a directory and not the system's.
pub(super) fn real(path: &Path) -> Result<PathBuf, ConfineError> {
    let fail = |source| ConfineError::InvalidRoot { path: path.to_owned(), source };
    let real = fs::canonicalize(path).map_err(fail)?;
    if !fs::metadata(&real).map_err(fail)?.is_dir() {
        return Err(fail(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    if real.to_str().is_none() {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "its name is not text")));
    }
    const SYSTEM: [&str; 8] = ["/", "/dev", "/etc", "/proc", "/run", "/sys", "/usr", "/var"];
    if SYSTEM.iter().any(|system| real == Path::new(system)) {
        return Err(ConfineError::RootTooBroad(real));
    }
    Ok(real)
}

/// Where a path leads whose end need not be there: what is there of the way is followed, but not
/// the last part.
pub(super) fn leading(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let real = fs::canonicalize(parent);
    real.unwrap_or_else(|_| leading(parent)).join(name)
}

/// Whoever could put a link where temporary files are would choose where the next command writes.
#[cfg(target_os = "linux")]
pub(super) fn check_temporary(confinement: &Confinement) -> Result<(), ConfineError> {
    match confinement.private_tmp() {
        Some(tmp) if real(tmp)? != *tmp => Err(ConfineError::ProtectedSymlink(tmp.to_owned())),
        _ => Ok(()),
    }
}

/// The writable roots, none inside another, with what is protected in each.
pub(super) fn plan(confinement: &Confinement) -> Result<Vec<Root>, ConfineError> {
    let named = confinement.roots();
    let mut roots: Vec<Root> = Vec::new();
    for path in &named {
        let inside = |other: &&Path| path.starts_with(other) && path != other;
        if named.iter().any(inside) || roots.iter().any(|root| root.path == **path) {
            continue;
        }
        // Somebody put a link or something else where the root was.
        if real(path)? != **path {
            return Err(ConfineError::ProtectedSymlink((*path).to_owned()));
        }
        let mut root = Root {
            path: (*path).to_owned(),
            present: Vec::new(),
            missing: Vec::new(),
            absent: Vec::new(),
        };
        let home = confinement.home.as_ref().and_then(|home| fs::canonicalize(home).ok());
        let home = home.filter(|home| home.starts_with(path));
        // What is protected in a named root is so also where that lies inside another.
        let bases = named.iter().copied().chain(home.as_deref());
        for base in bases.filter(|base| base.starts_with(path)) {
            let repository = git::is_repository(base);
            for protected in &confinement.protected {
                if !protected.is_absolute() || protected.starts_with(base) {
                    protect(&mut root, &base.join(protected))?;
                }
                // A root may be what is called `.git` elsewhere.
                if let (Ok(inside), true) = (protected.strip_prefix(".git"), repository) {
                    protect(&mut root, &base.join(inside))?;
                }
            }
            // Whoever protects a repository's configuration means what it leads to.
            if confinement.protected.iter().any(|protected| protected.ends_with(".git/config")) {
                let mut leads = git::leads(&base.join(".git"), home.as_deref());
                if repository {
                    leads.extend(git::leads(base, home.as_deref()));
                }
                let real = leads.iter().filter_map(|path| fs::canonicalize(path).ok());
                root.present.extend(real.filter(|lead| lead.starts_with(path) && lead != path));
            }
        }
        // A root inside something protected is protected.
        if confinement.protected.iter().any(|protected| path.starts_with(protected)) {
            root.present.push(root.path.clone());
        }
        // What the next command gets its temporary files and its network from.
        let proxy = confinement.proxy.as_deref().and_then(Path::parent);
        let own = confinement.private_tmp().into_iter().chain(proxy);
        let inside = own.filter(|own| own.starts_with(path) && own != path);
        root.present.extend(inside.map(Path::to_owned));
        for file in START_UP.iter().filter_map(|name| Some(home.as_ref()?.join(name))) {
            match fs::symlink_metadata(&file) {
                Ok(found) if !found.is_symlink() => root.present.push(file),
                // People keep these files elsewhere and link to them. A link cannot be covered.
                _ => {
                    let target = fs::canonicalize(&file).ok();
                    root.present.extend(target.filter(|target| target.starts_with(path)));
                    root.absent.push(file);
                }
            }
        }
        // What lies in something that is kept is kept with it.
        let kept = root.present.clone();
        let inner = |path: &PathBuf| kept.iter().any(|kept| path != kept && path.starts_with(kept));
        for list in [&mut root.present, &mut root.missing, &mut root.absent] {
            list.retain(|path| !inner(path));
            list.sort();
            list.dedup();
        }
        roots.push(root);
    }
    Ok(roots)
}

/// Adds `path`, or what stands on the way to it, to what is protected in `root`.
fn protect(root: &mut Root, path: &Path) -> Result<(), ConfineError> {
    let Ok(relative) = path.strip_prefix(&root.path) else { return Ok(()) };
    let mut reached = root.path.clone();
    for part in relative {
        let parent = reached.clone();
        reached.push(part);
        match fs::symlink_metadata(&reached) {
            Ok(found) if found.is_symlink() => return Err(ConfineError::ProtectedSymlink(reached)),
            Ok(found) if found.is_dir() => {}
            // A file on the way (`.git` of a work tree) is where the way can be changed.
            Ok(_) => break,
            // A directory in place of a file would be wrong: then the whole parent is protected.
            Err(_) if reached == path && part == "config" => {
                reached = parent;
                break;
            }
            Err(_) => {
                root.missing.push(reached);
                return Ok(());
            }
        }
    }
    root.present.push(reached);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Mode, Network};
    use super::*;

    fn confinement(workspace: &Path) -> Confinement {
        let mode = Mode::WorkspaceWrite {
            workspace: workspace.to_owned(),
            extra_roots: Vec::new(),
            private_tmp: None,
        };
        Confinement::new(mode, Network::Off)
    }

    fn names(root: &Root, paths: &[PathBuf]) -> Vec<String> {
        let relative = |path: &PathBuf| path.strip_prefix(&root.path).unwrap().to_owned();
        let mut names: Vec<_> =
            paths.iter().map(|path| relative(path).display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_protected_depends_on_what_is_there() {
        let cases: &[(&[&str], &[&str], &[&str], &[&str], &[&str])] = &[
            // Directories, files; present, missing, given.
            (&["src"], &[], &[], &[".agents", ".git", ".pi"], &["src"]),
            (
                &[".git/hooks", ".git/objects", ".pi", "src"],
                &[".git/config", "Cargo.toml"],
                &[".git/config", ".git/hooks", ".pi"],
                &[".agents"],
                &[".git/objects", "Cargo.toml", "src"],
            ),
            (&[".git"], &[".git/config"], &[".git/config"], &[".agents", ".git/hooks", ".pi"], &[]),
            // Not a repository, so nothing is lost.
            (&[".git/hooks"], &[], &[".git"], &[".agents", ".pi"], &[]),
            // A work tree or submodule.
            (&["src"], &[".git"], &[".git"], &[".agents", ".pi"], &["src"]),
        ];
        for (directories, files, present, missing, given) in cases {
            let folder = tempfile::tempdir().unwrap();
            let workspace = fs::canonicalize(folder.path()).unwrap();
            for directory in *directories {
                fs::create_dir_all(workspace.join(directory)).unwrap();
            }
            for file in *files {
                fs::write(workspace.join(file), "").unwrap();
            }
            let roots = plan(&confinement(&workspace)).unwrap();
            assert_eq!(names(&roots[0], &roots[0].present), *present);
            assert_eq!(names(&roots[0], &roots[0].missing), *missing);
            assert_eq!(names(&roots[0], &roots[0].narrow()), *given);
        }
    }

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = fs::canonicalize(folder.path()).unwrap();
        std::os::unix::fs::symlink("/etc", workspace.join("away")).unwrap();
        let roots = plan(&confinement(&workspace)).unwrap();
        assert_eq!(roots[0].narrow(), Vec::<PathBuf>::new());
        std::os::unix::fs::symlink("/etc", workspace.join(".pi")).unwrap();
        assert!(matches!(plan(&confinement(&workspace)), Err(ConfineError::ProtectedSymlink(_))));
    }

    #[test]
    fn a_home_keeps_its_start_up_files() {
        let folder = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(folder.path()).unwrap().join("me");
        fs::create_dir(&home).unwrap();
        fs::write(home.join(".bashrc"), "").unwrap();
        fs::create_dir(home.join("dotfiles")).unwrap();
        fs::write(home.join("dotfiles/profile"), "").unwrap();
        std::os::unix::fs::symlink("dotfiles/profile", home.join(".profile")).unwrap();
        let mut confinement = confinement(&home);
        confinement.home = Some(home.clone());
        let roots = plan(&confinement).unwrap();
        assert!(roots[0].present.contains(&home.join(".bashrc")));
        assert!(roots[0].absent.contains(&home.join(".zshenv")));
        assert!(roots[0].present.contains(&home.join("dotfiles/profile")));
        // A root around the home holds what is in the home.
        let above = home.parent().unwrap().to_owned();
        confinement.mode =
            Mode::WorkspaceWrite { workspace: above, extra_roots: Vec::new(), private_tmp: None };
        let roots = plan(&confinement).unwrap();
        assert!(roots[0].present.contains(&home.join(".bashrc")));
        assert!(roots[0].missing.contains(&home.join(".pi")));
    }
}
