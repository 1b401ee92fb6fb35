//! Releases of the program: finding the newest one, verifying it, replacing the program.
//!
//! A release is a directory on a server: archives, `SHA256SUMS`, and `SHA256SUMS.sig` with an
//! Ed25519 signature of it. Nothing of a release is used before the signature and the checksum are
//! right, and only a newer version than the running one is accepted.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use pi_fs::{Access, NewFile};
use pi_web::{DownloadError, Downloader};
use sha2::{Digest as _, Sha256};

use crate::Version;

/// Name of the list of checksums.
const SUMS: &str = "SHA256SUMS";
const MAX_SUMS: u64 = 1 << 20;
const MAX_ARCHIVE: u64 = 512 << 20;

/// Reasons why the program is not updated. It stays as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The server cannot be reached, or does not have the file.
    #[error("cannot download {url}: {source}")]
    Download {
        /// Address of the file.
        url: String,
        /// The reason.
        source: DownloadError,
    },
    /// The key is not an Ed25519 key in base64.
    #[error("the key of the releases is not 32 bytes in base64")]
    Key,
    /// The list of checksums is not signed with the key.
    #[error("the signature of {url} is wrong: it is not a release of the owner of the key")]
    Signature {
        /// Address of the list.
        url: String,
    },
    /// The list names no archive for this platform.
    #[error("the release at {url} has no archive for {target}")]
    NoArchive {
        /// Address of the release.
        url: String,
        /// The platform.
        target: String,
    },
    /// The archive is not the one that was signed.
    #[error("the checksum of {archive} is wrong")]
    Checksum {
        /// Name of the archive.
        archive: String,
    },
    /// The archive does not contain the program.
    #[error("{archive} cannot be unpacked: {problem}")]
    Archive {
        /// Name of the archive.
        archive: String,
        /// The problem.
        problem: String,
    },
    /// The program cannot be replaced.
    #[error("{} cannot be replaced: {source}", path.display())]
    Replace {
        /// Path of the program.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// The place of the releases.
#[derive(Debug, Clone)]
pub struct Releases {
    url: String,
    key: [u8; 32],
    target: String,
    downloader: Downloader,
}

/// A release with a valid signature.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Release {
    /// Version of the program.
    pub version: Version,
    archive: String,
    checksum: String,
}

impl Releases {
    /// Creates the access to the releases at `url` for the platform `target`. `key` is the public
    /// key in base64; `environment` has the proxy variables.
    pub fn new(
        url: &str,
        key: &str,
        target: &str,
        environment: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>,
        proxy: Option<String>,
    ) -> Result<Self, ReleaseError> {
        let key = STANDARD.decode(key.trim()).map_err(|_| ReleaseError::Key)?;
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            key: key.try_into().map_err(|_| ReleaseError::Key)?,
            target: target.to_owned(),
            downloader: Downloader::new(environment, proxy),
        })
    }

    /// Returns the newest release.
    pub async fn latest(&self) -> Result<Release, ReleaseError> {
        let sums = self.download(SUMS, MAX_SUMS).await?;
        let signature = self.download(&format!("{SUMS}.sig"), MAX_SUMS).await?;
        let invalid = || ReleaseError::Signature { url: format!("{}/{SUMS}", self.url) };
        let signature = STANDARD.decode(signature.trim_ascii()).map_err(|_| invalid())?;
        let key = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, self.key);
        key.verify(&sums, &signature).map_err(|_| invalid())?;
        let sums = String::from_utf8_lossy(&sums);
        let mut archives = sums.lines().filter_map(|line| self.archive_of(line));
        archives.next().ok_or_else(|| ReleaseError::NoArchive {
            url: self.url.clone(),
            target: self.target.clone(),
        })
    }

    /// Returns the release that a line of the checksums describes, if it is for this platform.
    fn archive_of(&self, line: &str) -> Option<Release> {
        let (checksum, archive) = line.split_once("  ")?;
        let version = archive.strip_prefix("pi-")?.strip_suffix(".tar.gz")?;
        let version = version.strip_suffix(&self.target)?.strip_suffix('-')?;
        Some(Release {
            version: Version::parse(version)?,
            archive: archive.to_owned(),
            checksum: checksum.to_ascii_lowercase(),
        })
    }

    /// Downloads the program of a release.
    pub async fn program(&self, release: &Release) -> Result<Vec<u8>, ReleaseError> {
        let archive = self.download(&release.archive, MAX_ARCHIVE).await?;
        if pi_base::text::hex(&Sha256::digest(&archive)) != release.checksum {
            return Err(ReleaseError::Checksum { archive: release.archive.clone() });
        }
        let name = release.archive.trim_end_matches(".tar.gz");
        unpack(&archive, &Path::new(name).join("pi")).map_err(|error| ReleaseError::Archive {
            archive: release.archive.clone(),
            problem: error.to_string(),
        })
    }

    async fn download(&self, name: &str, limit: u64) -> Result<Vec<u8>, ReleaseError> {
        let url = format!("{}/{name}", self.url);
        let mut bytes = Vec::new();
        let mut receive = |part: &[u8]| {
            bytes.extend_from_slice(part);
            Ok(())
        };
        let got = self.downloader.get(&url, &[], limit, &mut receive).await;
        got.map_err(|source| ReleaseError::Download { url, source })?;
        Ok(bytes)
    }
}

/// Returns a file of an archive, at most as large as an archive may be.
fn unpack(archive: &[u8], wanted: &Path) -> io::Result<Vec<u8>> {
    let mut archive = tar::Archive::new(GzDecoder::new(archive).take(MAX_ARCHIVE));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()? == wanted && entry.header().entry_type().is_file() {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            return Ok(content);
        }
    }
    Err(io::Error::other(format!("it does not contain {}", wanted.display())))
}

/// Replaces a program by a new one, which `starts` tries. If it does not start, the old one returns.
pub fn replace_program(
    path: &Path,
    program: &[u8],
    starts: impl FnOnce() -> io::Result<()>,
) -> Result<(), ReleaseError> {
    let failed = |source| ReleaseError::Replace { path: path.to_owned(), source };
    let old = std::fs::read(path).map_err(failed)?;
    let failed = |source| ReleaseError::Replace { path: path.to_owned(), source };
    put(path, program).map_err(failed)?;
    let Err(error) = starts() else { return Ok(()) };
    let restored = put(path, &old);
    let problem = match restored {
        Ok(()) => format!("the new program does not start: {error}; the old one is back"),
        Err(again) => format!(
            "the new program does not start: {error}; the old one cannot be restored: {again}"
        ),
    };
    Err(ReleaseError::Replace { path: path.to_owned(), source: io::Error::other(problem) })
}

/// Puts a program in the place of another one, which may be running.
fn put(path: &Path, program: &[u8]) -> io::Result<()> {
    let mut new = NewFile::create(path, Access::Default)?;
    new.write_all(program)?;
    #[cfg(unix)]
    new.file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    new.file().sync_all()?;
    new.finish()
}
