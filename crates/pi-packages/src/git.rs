//! Packages in git repositories, through the program git. It never asks for a password, runs no
//! hooks and starts no helper that a URL names.

use std::fs;
use std::path::Path;

use pi_config::Environment;
use pi_config::resources::GitLocation;

use crate::PackageError;
use crate::process;

/// Settings that apply to every call.
const CONFIG: &[&str] = &[
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "submodule.recurse=false",
];

/// Variables: no questions, and no repository but the one that is named.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_DIR", ""),
    ("GIT_WORK_TREE", ""),
    ("GIT_INDEX_FILE", ""),
    ("GIT_OBJECT_DIRECTORY", ""),
    ("GIT_COMMON_DIR", ""),
    ("GIT_EXTERNAL_DIFF", ""),
];

/// A checkout of a repository.
#[derive(Debug)]
pub(crate) struct Checkout<'a> {
    location: &'a GitLocation,
    directory: &'a Path,
    environment: &'a Environment,
    /// Error output of the call that failed.
    pub(crate) errors: String,
}

impl<'a> Checkout<'a> {
    pub(crate) fn new(
        location: &'a GitLocation,
        directory: &'a Path,
        environment: &'a Environment,
    ) -> Self {
        Self { location, directory, environment, errors: String::new() }
    }

    /// Returns true if there is a checkout.
    pub(crate) fn exists(&self) -> bool {
        self.directory.join(".git").exists()
    }

    /// Clones the repository into its directory. A clone that fails leaves nothing behind.
    /// `staging` is a directory on the same file system.
    pub(crate) async fn clone(&mut self, staging: &Path) -> Result<(), PackageError> {
        let temporary = tempfile::Builder::new().prefix(".pi-clone-").tempdir_in(staging);
        let temporary = temporary.map_err(PackageError::file(staging))?;
        let clone = temporary.path().join("repository");
        let target = clone.to_string_lossy().into_owned();
        let url = self.location.url.clone();
        self.git(&["clone", "--no-recurse-submodules", "--", &url, &target], staging).await?;
        if let Some(reference) = &self.location.reference {
            self.check_out(reference, &clone).await?;
        }
        if let Some(parent) = self.directory.parent() {
            fs::create_dir_all(parent).map_err(PackageError::file(parent))?;
        }
        if self.directory.symlink_metadata().is_ok() {
            // Not a checkout, or the process ended while it was removed.
            let old = temporary.path().join("old");
            fs::rename(self.directory, &old).map_err(PackageError::file(self.directory))?;
        }
        fs::rename(&clone, self.directory).map_err(PackageError::file(self.directory))
    }

    /// Updates the checkout to the ref, or to the head of its branch. Returns true if it moved.
    pub(crate) async fn update(&mut self) -> Result<bool, PackageError> {
        let directory = self.directory;
        let url = self.location.url.clone();
        self.git(&["remote", "set-url", "origin", &url], directory).await?;
        let target = match &self.location.reference {
            Some(reference) => self.fetch(reference, directory).await?,
            None => self.fetch_branch().await?,
        };
        let head = self.commit("HEAD", directory).await?;
        let wanted = self.commit(&target, directory).await?;
        if head == wanted {
            return Ok(false);
        }
        self.git(&["reset", "--hard", &wanted], directory).await?;
        self.git(&["clean", "-fdx"], directory).await?;
        Ok(true)
    }

    /// Fetches the branch that the checkout follows, else the default branch of the remote.
    async fn fetch_branch(&mut self) -> Result<String, PackageError> {
        let directory = self.directory;
        let upstream = ["rev-parse", "--abbrev-ref", "@{upstream}"];
        let mut ignored = String::new();
        let upstream = self.run(&upstream, directory, &mut ignored).await.unwrap_or_default();
        let branch = upstream.trim().strip_prefix("origin/").filter(|name| !name.is_empty());
        let (source, target) = match branch {
            Some(branch) => {
                (format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}"))
            }
            // A checkout of a tag follows nothing.
            None => ("HEAD".to_owned(), "refs/remotes/origin/HEAD".to_owned()),
        };
        let spec = format!("+{source}:{target}");
        self.git(&["fetch", "--prune", "--no-tags", "origin", &spec], directory).await?;
        Ok(target)
    }

    /// Fetches a branch, tag or commit. Returns a name for it.
    async fn fetch(&mut self, reference: &str, at: &Path) -> Result<String, PackageError> {
        let mut errors = String::new();
        match self.run(&["fetch", "origin", reference], at, &mut errors).await {
            Ok(_) => Ok("FETCH_HEAD".to_owned()),
            Err(error) => {
                // Servers do not offer single commits; after a fetch of everything it is known.
                let all = ["fetch", "--tags", "origin"];
                let is_known = self.run(&all, at, &mut errors).await.is_ok()
                    && self.commit(reference, at).await.is_ok();
                if is_known {
                    return Ok(reference.to_owned());
                }
                self.errors = errors;
                Err(error)
            }
        }
    }

    async fn check_out(&mut self, reference: &str, at: &Path) -> Result<(), PackageError> {
        let mut ignored = String::new();
        if self.run(&["checkout", "--quiet", reference, "--"], at, &mut ignored).await.is_ok() {
            return Ok(());
        }
        let target = self.fetch(reference, at).await?;
        self.git(&["checkout", "--quiet", "--detach", &target], at).await.map(drop)
    }

    async fn commit(&mut self, name: &str, at: &Path) -> Result<String, PackageError> {
        let name = format!("{name}^{{commit}}");
        let commit = self.git(&["rev-parse", "--verify", "--end-of-options", &name], at).await?;
        Ok(commit.trim().to_owned())
    }

    /// Runs git; the error output of a failure is kept.
    async fn git(&mut self, arguments: &[&str], at: &Path) -> Result<String, PackageError> {
        let mut errors = String::new();
        let result = self.run(arguments, at, &mut errors).await;
        if result.is_err() {
            self.errors = errors;
        }
        result
    }

    async fn run(
        &self,
        arguments: &[&str],
        at: &Path,
        errors: &mut String,
    ) -> Result<String, PackageError> {
        let words = CONFIG.iter().chain(arguments).map(|word| (*word).to_owned());
        let words: Vec<String> = words.collect();
        let mut variables = VARIABLES.to_vec();
        let is_set = |name: &&str| self.environment.variable(name).is_some();
        if !["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(is_set) {
            // ssh must not ask either, unless the user chose how git calls it.
            variables.push(("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"));
        }
        let result = process::run("git", &words, at, self.environment, &variables, errors).await;
        let output = result.map_err(|error| match error {
            // The settings would hide what failed.
            PackageError::Command { code, .. } => {
                PackageError::Command { command: format!("git {}", arguments.join(" ")), code }
            }
            other => other,
        })?;
        Ok(output.stdout)
    }
}
