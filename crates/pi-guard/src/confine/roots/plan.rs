//! Finding the protected paths of each writable root.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::super::{ConfineError, Confinement, git};
use super::{Root, links_on_the_way, real};
use crate::protected::{self, Protection};

/// Paths in a home that shells, desktops, git and ssh run or read programs from.
pub(in super::super) static START_UP: LazyLock<Vec<&str>> =
    LazyLock::new(|| protected::in_home(Protection::ReadOnly));

/// Returns the writable roots, none inside another, with the protected paths of each.
pub(in super::super) fn plan(confinement: &Confinement) -> Result<Vec<Root>, ConfineError> {
    let named = confinement.roots();
    let mut roots: Vec<Root> = Vec::new();
    for path in &named {
        let is_inside = |other: &&Path| path.starts_with(other) && path != other;
        if named.iter().any(is_inside) || roots.iter().any(|root| root.path == **path) {
            continue;
        }
        // The root was replaced after the confinement was prepared.
        if real(path)? != **path {
            return Err(ConfineError::ProtectedSymlink((*path).to_owned()));
        }
        let mut root = Root::new(path);
        if confinement.is_mounted(path) {
            roots.push(root);
            continue;
        }
        let home = confinement.home.as_ref().and_then(|home| fs::canonicalize(home).ok());
        let home = home.filter(|home| home.starts_with(path));
        // A root inside another root keeps its protected paths.
        for base in named.iter().copied().chain(home.as_deref()) {
            if base.starts_with(path) {
                root.protect_configured(confinement, base)?;
                root.protect_repository(confinement, base)?;
            }
        }
        // A root inside a protected path is protected.
        if confinement.all_protected().any(|protected| path.starts_with(protected)) {
            root.present.push(root.path.clone());
            root.sealed.push(root.path.clone());
        }
        // The next command gets its temporary files and its network from these.
        let proxy = confinement.proxy.as_deref().and_then(Path::parent);
        let own = confinement.private_tmp().into_iter().chain(proxy);
        let inside = own.filter(|own| own.starts_with(path) && own != path);
        let inside: Vec<PathBuf> = inside.map(Path::to_owned).collect();
        root.sealed.extend(inside.iter().cloned());
        root.present.extend(inside);
        let sealed = confinement.sealed.iter().filter(|sealed| sealed.starts_with(path));
        root.sealed.extend(sealed.cloned());
        let links = confinement.links.iter().filter(|link| link.starts_with(path));
        root.links.extend(links.cloned());
        if let Some(home) = &home {
            root.protect_start_up_files(home);
        }
        root.simplify();
        roots.push(root);
    }
    Ok(roots)
}

impl Root {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            present: Vec::new(),
            missing: Vec::new(),
            absent: Vec::new(),
            sealed: Vec::new(),
            covers: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Adds the configured protected paths of `base`, a directory in this root.
    fn protect_configured(
        &mut self,
        confinement: &Confinement,
        base: &Path,
    ) -> Result<(), ConfineError> {
        let is_repository = git::is_repository(base);
        for protected in confinement.all_protected() {
            if !protected.is_absolute() || protected.starts_with(base) {
                self.protect(&base.join(protected))?;
            }
            // A bare repository has no directory called `.git`.
            if let (Ok(inside), true) = (protected.strip_prefix(".git"), is_repository) {
                self.protect(&base.join(inside))?;
            }
        }
        Ok(())
    }

    /// Adds the other files that decide what `git` runs, if its configuration is protected.
    fn protect_repository(
        &mut self,
        confinement: &Confinement,
        base: &Path,
    ) -> Result<(), ConfineError> {
        if !confinement.protected.iter().any(|protected| protected.ends_with(".git/config")) {
            return Ok(());
        }
        for repository in git::directories(base) {
            let used = git::used_paths(&repository, confinement.home.as_deref());
            for path in &used {
                self.protect_used(path);
            }
            let is_inside = repository.starts_with(&self.path) && repository != self.path;
            if is_inside && !repository.ends_with(".git") {
                self.protect(&repository.join("config"))?;
                self.protect(&repository.join("hooks"))?;
            }
            if repository.starts_with(&self.path) {
                self.covers.extend(git::covers(&repository));
            }
        }
        Ok(())
    }

    /// Adds a file or directory that exists, behind the links that lead to it.
    fn protect_used(&mut self, path: &Path) {
        let links = links_on_the_way(path).into_iter();
        self.links.extend(links.filter(|link| link.starts_with(&self.path)));
        let real = fs::canonicalize(path).ok();
        self.present.extend(real.filter(|real| real.starts_with(&self.path) && *real != self.path));
    }

    fn protect_start_up_files(&mut self, home: &Path) {
        self.sealed.extend(START_UP.iter().map(|name| home.join(name)));
        for file in START_UP.iter().map(|name| home.join(name)) {
            if fs::symlink_metadata(&file).is_ok_and(|found| !found.is_symlink()) {
                self.present.push(file);
                continue;
            }
            // Users keep these files elsewhere and link to them. A link cannot be covered.
            if let Ok(target) = fs::canonicalize(&file)
                && target.starts_with(&self.path)
            {
                self.sealed.push(target.clone());
                self.present.push(target);
            }
            self.absent.push(file);
        }
    }

    /// Adds `path`, or the file or missing directory above it, to the protected paths.
    fn protect(&mut self, path: &Path) -> Result<(), ConfineError> {
        let Ok(relative) = path.strip_prefix(&self.path) else { return Ok(()) };
        let mut reached = self.path.clone();
        for part in relative {
            let parent = reached.clone();
            reached.push(part);
            match fs::symlink_metadata(&reached) {
                Ok(found) if found.is_symlink() => {
                    return Err(ConfineError::ProtectedSymlink(reached));
                }
                Ok(found) if found.is_dir() => {}
                // A file above the path (`.git` of a work tree) can redirect it.
                Ok(_) => break,
                // A directory cannot cover a file: then the whole parent is protected.
                Err(_) if reached == path && part == "config" => {
                    reached = parent;
                    break;
                }
                Err(_) => {
                    self.missing.push(reached);
                    return Ok(());
                }
            }
        }
        self.present.push(reached);
        Ok(())
    }

    /// Removes paths that lie in a protected directory, and duplicates.
    fn simplify(&mut self) {
        let present = self.present.clone();
        let is_inner =
            |path: &PathBuf| present.iter().any(|outer| path != outer && path.starts_with(outer));
        for list in [&mut self.present, &mut self.missing, &mut self.absent, &mut self.links] {
            list.retain(|path| !is_inner(path));
            list.sort();
            list.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Mode, Network};
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
    fn protected_paths_depend_on_what_exists() {
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
            // Not a repository: protecting all of it does no harm.
            (&[".git/hooks"], &[], &[".git"], &[".agents", ".pi"], &[]),
            // A work tree or submodule.
            (&["src"], &[".git"], &[".git"], &[".agents", ".pi"], &["src"]),
        ];
        for (directories, files, present, missing, given) in cases {
            let directory = tempfile::tempdir().unwrap();
            let workspace = fs::canonicalize(directory.path()).unwrap();
            for directory in *directories {
                fs::create_dir_all(workspace.join(directory)).unwrap();
            }
            for file in *files {
                fs::write(workspace.join(file), "").unwrap();
            }
            let roots = plan(&confinement(&workspace)).unwrap();
            assert_eq!(names(&roots[0], &roots[0].present), *present);
            assert_eq!(names(&roots[0], &roots[0].missing), *missing);
            assert_eq!(names(&roots[0], &roots[0].narrow(&[])), *given);
        }
    }

    #[test]
    fn links_are_not_writable_and_protected_links_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = fs::canonicalize(directory.path()).unwrap();
        std::os::unix::fs::symlink("/etc", workspace.join("away")).unwrap();
        let roots = plan(&confinement(&workspace)).unwrap();
        assert_eq!(roots[0].narrow(&[]), Vec::<PathBuf>::new());
        std::os::unix::fs::symlink("/etc", workspace.join(".pi")).unwrap();
        assert!(matches!(plan(&confinement(&workspace)), Err(ConfineError::ProtectedSymlink(_))));
    }

    #[test]
    fn start_up_files_of_a_home_are_protected() {
        let directory = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(directory.path()).unwrap().join("me");
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
        // The same for a root that contains the home.
        let above = home.parent().unwrap().to_owned();
        confinement.mode =
            Mode::WorkspaceWrite { workspace: above, extra_roots: Vec::new(), private_tmp: None };
        let roots = plan(&confinement).unwrap();
        assert!(roots[0].present.contains(&home.join(".bashrc")));
        assert!(roots[0].missing.contains(&home.join(".pi")));
    }
}
