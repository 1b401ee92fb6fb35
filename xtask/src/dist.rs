//! `cargo xtask dist [--target TRIPLE]... [--binary FILE] [--out DIR] [--profile NAME] [--sign KEY]`:
//! builds what a release needs.
//!
//! For each target: a static binary, an archive with the manual and shell completions, a Debian
//! package and an npm package. Then the npm package that selects among them, the install script, a
//! container file, and checksums of everything. Archives are reproducible: the same commit gives
//! the same bytes. Nothing is published.
//!
//! `--binary FILE` packs a binary that was built elsewhere, for the one target that is named.
//!
//! `--sign KEY` signs the checksums with an Ed25519 key in PEM, by openssl, for `pi update`. The
//! binaries of such a release are built with the public key in `PI_RELEASE_KEY`, in base64.

mod archive;
mod debian;
mod npm;
mod target;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{report, repository};
use target::Target;

/// Version of the release: that of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DistError {
    #[error(
        "usage: cargo xtask dist [--target TRIPLE]... [--binary FILE] [--out DIR] [--profile NAME] [--sign KEY], not {0:?}"
    )]
    Usage(String),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("cannot run {program}: {source}; install it")]
    Missing { program: String, source: io::Error },
    #[error("{0} failed; see above")]
    Failed(String),
}

/// The release that is built.
struct Release {
    /// Directory of the finished files.
    out: PathBuf,
    /// Directory of files that go into archives.
    stage: PathBuf,
    profile: String,
    /// File with the private key that signs the checksums.
    key: Option<PathBuf>,
    /// Seconds since 1970 that all packed files get as their time.
    time: String,
}

/// Builds the release.
pub(crate) fn run(arguments: &[&str]) -> Result<(), DistError> {
    let mut targets = Vec::new();
    let mut out = repository::path("target/packages");
    let mut profile = "dist".to_owned();
    let mut key = None;
    let mut binary = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let usage = || DistError::Usage((*argument).to_owned());
        let value = rest.next().ok_or_else(usage)?;
        match *argument {
            "--target" => targets.push(Target::find(value).ok_or_else(usage)?),
            "--out" => out = std::path::absolute(value).map_err(|_| usage())?,
            "--binary" => binary = Some(std::path::absolute(value).map_err(|_| usage())?),
            "--sign" => key = Some(std::path::absolute(value).map_err(|_| usage())?),
            "--profile" => profile = (*value).to_owned(),
            _ => return Err(usage()),
        }
    }
    if binary.is_some() && targets.len() != 1 {
        return Err(DistError::Usage("--binary without one --target".to_owned()));
    }
    if targets.is_empty() {
        targets = Target::ALL.iter().collect();
    }
    let release = Release { stage: out.join("stage"), out, profile, key, time: commit_time()? };
    release.build(&targets, binary.as_deref())
}

impl Release {
    fn build(&self, targets: &[&'static Target], built: Option<&Path>) -> Result<(), DistError> {
        remove(&self.out)?;
        create(&self.stage)?;
        let manual = self.manual()?;
        let mut files = Vec::new();
        for target in targets {
            let binary = match built {
                Some(binary) => binary.to_owned(),
                None => {
                    report(&format!("building for {}", target.triple));
                    target.build(&self.profile)?
                }
            };
            files.push(archive::build(self, target, &binary, &manual)?);
            files.push(debian::build(self, target, &binary, &manual)?);
            files.push(npm::build_platform(self, target, &binary)?);
        }
        files.push(npm::build_launcher(self)?);
        for name in ["install.sh", "Containerfile"] {
            let path = self.out.join(name);
            copy(&repository::path("packaging").join(name), &path)?;
            files.push(path);
        }
        remove(&self.stage)?;
        self.write_checksums(&files)?;
        if let Some(key) = &self.key {
            self.sign_checksums(key)?;
        }
        report(&format!("{} files in {}", files.len() + 1, self.out.display()));
        Ok(())
    }

    /// Writes the manual page and the completions, as the program prints them.
    fn manual(&self) -> Result<Manual, DistError> {
        let directory = self.stage.join("manual");
        create(&directory)?;
        let print = |name: &str, arguments: &[&str]| {
            let mut cargo = repository::cargo();
            cargo.args(["run", "--quiet", "--package", "pi", "--"]).args(arguments);
            let path = directory.join(name);
            write(&path, &output(&mut cargo, "pi")?)?;
            Ok::<_, DistError>(path)
        };
        Ok(Manual {
            page: print("pi.1", &["man"])?,
            bash: print("pi.bash", &["completions", "bash"])?,
            zsh: print("_pi", &["completions", "zsh"])?,
            fish: print("pi.fish", &["completions", "fish"])?,
        })
    }

    fn write_checksums(&self, files: &[PathBuf]) -> Result<(), DistError> {
        let names = files.iter().filter_map(|file| file.file_name());
        let mut sha256sum = Command::new("sha256sum");
        sha256sum.current_dir(&self.out).args(names);
        let sums = output(&mut sha256sum, "sha256sum")?;
        write(&self.out.join("SHA256SUMS"), &sums)
    }

    /// Writes the signature of the checksums, in base64.
    fn sign_checksums(&self, key: &Path) -> Result<(), DistError> {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(&self.out).args(["pkeyutl", "-sign", "-rawin", "-in", "SHA256SUMS"]);
        let raw = self.stage.with_extension("sig");
        write(&raw, &output(openssl.arg("-inkey").arg(key), "openssl")?)?;
        let mut base64 = Command::new("openssl");
        let text = output(base64.args(["base64", "-A", "-in"]).arg(&raw), "openssl")?;
        at(&raw, fs::remove_file(&raw))?;
        write(&self.out.join("SHA256SUMS.sig"), &text)
    }

    /// Packs a directory as `NAME.tar.gz`, with one owner, one time and sorted names.
    fn pack(&self, directory: &Path, archive: &Path) -> Result<(), DistError> {
        let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
            return Err(DistError::Failed("tar".to_owned()));
        };
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime"])
            .arg(format!("@{}", self.time))
            .args(["--use-compress-program", "gzip -n -9", "-cf"])
            .args([archive.as_os_str(), "-C".as_ref(), parent.as_os_str(), name]);
        run_tool(&mut tar, "tar")
    }
}

/// Files that every package has besides the binary.
struct Manual {
    page: PathBuf,
    bash: PathBuf,
    zsh: PathBuf,
    fish: PathBuf,
}

/// Returns the time of the last commit.
fn commit_time() -> Result<String, DistError> {
    let mut git = repository::tool("GIT", "git");
    let time = output(git.args(["log", "-1", "--format=%ct"]), "git")?;
    Ok(String::from_utf8_lossy(&time).trim().to_owned())
}

fn run_tool(command: &mut Command, program: &str) -> Result<(), DistError> {
    let missing = |source| DistError::Missing { program: program.to_owned(), source };
    let status = command.status().map_err(missing)?;
    if status.success() { Ok(()) } else { Err(DistError::Failed(program.to_owned())) }
}

fn output(command: &mut Command, program: &str) -> Result<Vec<u8>, DistError> {
    let missing = |source| DistError::Missing { program: program.to_owned(), source };
    let output = command.stderr(std::process::Stdio::inherit()).output().map_err(missing)?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(DistError::Failed(program.to_owned()))
    }
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, DistError> {
    result.map_err(|source| DistError::File { path: path.to_owned(), source })
}

fn create(directory: &Path) -> Result<(), DistError> {
    at(directory, fs::create_dir_all(directory))
}

fn remove(directory: &Path) -> Result<(), DistError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => at(directory, result),
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), DistError> {
    at(path, fs::write(path, content))
}

/// Copies a file with its mode, and creates the directory that it goes to.
fn copy(from: &Path, to: &Path) -> Result<(), DistError> {
    if let Some(directory) = to.parent() {
        create(directory)?;
    }
    at(from, fs::copy(from, to).map(drop))
}
