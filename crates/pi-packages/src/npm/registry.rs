//! The client of npm registries: metadata of packages and their archives.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_web::{DownloadError, Downloader};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::config::RegistryConfig;
use super::integrity::{Hasher, Integrity};
use super::manifest::Manifest;
use super::spec::Spec;
use super::version::Version;
use crate::PackageError;

/// Asks for the short form, which has no descriptions.
const ACCEPT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*";
const MAX_METADATA: u64 = 128 << 20;
const MAX_ARCHIVE: u64 = 512 << 20;
const ATTEMPTS: u32 = 4;
/// Longest pause before a retry that a registry may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(30);
const CONCURRENT: usize = 8;

/// Registries with their configuration. Clones share connections.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    downloader: Downloader,
    config: Arc<RegistryConfig>,
    /// The pause before the first retry; it doubles with every further one.
    pause: Duration,
    requests: Arc<Semaphore>,
}

/// The versions of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Packument {
    #[serde(default, rename = "dist-tags")]
    tags: BTreeMap<String, String>,
    /// Versions are parsed when they are picked: there may be thousands.
    #[serde(default)]
    versions: HashMap<String, Box<RawValue>>,
}

impl Registry {
    pub(crate) fn new(downloader: Downloader, config: RegistryConfig, pause: Duration) -> Self {
        let requests = Arc::new(Semaphore::new(CONCURRENT));
        Self { downloader, config: Arc::new(config), pause, requests }
    }

    /// Downloads the metadata of a package.
    pub(crate) async fn packument(&self, name: &str) -> Result<Packument, PackageError> {
        let registry = self.config.registry(name);
        let url = format!("{registry}{}", name.replace('/', "%2f"));
        let mut headers = vec![("accept".to_owned(), ACCEPT.to_owned())];
        headers.extend(self.authorization(&url));
        let mut body = Vec::new();
        let mut attempt = 0;
        let _permit = self.requests.acquire().await;
        loop {
            body.clear();
            let mut receive = |bytes: &[u8]| {
                body.extend_from_slice(bytes);
                Ok(())
            };
            let got = self.downloader.get(&url, &headers, MAX_METADATA, &mut receive).await;
            match got {
                Ok(()) => break,
                Err(DownloadError::Status { status: 404, .. }) => {
                    return Err(PackageError::NoPackage { name: name.to_owned(), registry });
                }
                Err(error) => self.wait(&mut attempt, error).await?,
            }
        }
        serde_json::from_slice(&body).map_err(|error| PackageError::Metadata {
            name: name.to_owned(),
            problem: error.to_string(),
        })
    }

    /// Downloads the archive of a package into a file, and checks it.
    pub(crate) async fn archive(&self, of: &Manifest, to: &Path) -> Result<(), PackageError> {
        let package = format!("{}@{}", of.name, of.version);
        let Some(expected) = &of.integrity else {
            return Err(PackageError::NoIntegrity { package });
        };
        let address = of.archive.as_deref().unwrap_or_default();
        let url = self.config.archive_url(&of.name, address);
        let headers: Vec<_> = self.authorization(&url).into_iter().collect();
        let mut attempt = 0;
        let _permit = self.requests.acquire().await;
        loop {
            let got = self.fetch(&url, &headers, expected, to).await;
            match got {
                Ok(actual) if actual.agrees_with(expected) => return Ok(()),
                Ok(actual) => {
                    let (expected, actual) = (expected.to_string(), actual.to_string());
                    return Err(PackageError::Integrity { package, expected, actual });
                }
                Err(error) => self.wait(&mut attempt, error).await?,
            }
        }
    }

    async fn fetch(
        &self,
        url: &str,
        headers: &[(String, String)],
        expected: &Integrity,
        to: &Path,
    ) -> Result<Integrity, DownloadError> {
        let mut file = BufWriter::new(File::create(to)?);
        let mut hasher = Hasher::for_expected(Some(expected));
        let mut receive = |bytes: &[u8]| {
            hasher.update(bytes);
            file.write_all(bytes)
        };
        self.downloader.get(url, headers, MAX_ARCHIVE, &mut receive).await?;
        file.flush()?;
        Ok(hasher.finish())
    }

    fn authorization(&self, url: &str) -> Option<(String, String)> {
        let value = self.config.authorization(url)?;
        Some(("authorization".to_owned(), value))
    }

    /// Waits before a retry; returns the error if there is none.
    async fn wait(&self, attempt: &mut u32, error: DownloadError) -> Result<(), DownloadError> {
        *attempt += 1;
        if !error.is_transient() || *attempt >= ATTEMPTS {
            return Err(error);
        }
        let asked = match &error {
            DownloadError::Status { pause, .. } => *pause,
            _ => None,
        };
        let pause = asked.unwrap_or(self.pause * 2_u32.pow(*attempt - 1));
        if pause > MAX_PAUSE {
            return Err(error);
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

impl Packument {
    /// Picks a version as npm does: the tag `latest` if it fits, else the highest one that fits,
    /// and deprecated ones last.
    pub(crate) fn pick(&self, name: &str, spec: &Spec) -> Result<Manifest, PackageError> {
        let range = match spec {
            Spec::Range(range) => range,
            Spec::Tag(tag) => {
                let version = self.tags.get(tag).and_then(|version| self.manifest(name, version));
                return version.ok_or_else(|| self.no_version(name, tag.clone()))?;
            }
            Spec::Alias { spec, .. } => return self.pick(name, spec),
            Spec::Unsupported(text) => return Err(self.no_version(name, text.clone())),
        };
        if let Some(latest) = self.tags.get("latest") {
            let fits = Version::parse(latest).is_some_and(|version| range.contains(&version));
            if (fits || range.is_any())
                && let Some(manifest) = self.manifest(name, latest)
            {
                return manifest;
            }
        }
        let parsed = self.versions.keys().filter_map(|text| Some((Version::parse(text)?, text)));
        let mut fitting: Vec<_> = parsed.filter(|(version, _)| range.contains(version)).collect();
        fitting.sort();
        let mut deprecated = None;
        for (_, text) in fitting.into_iter().rev() {
            let Some(manifest) = self.manifest(name, text) else { continue };
            let manifest = manifest?;
            if manifest.deprecated.is_none() {
                return Ok(manifest);
            }
            deprecated.get_or_insert(manifest);
        }
        deprecated.ok_or_else(|| self.no_version(name, format!("{range}")))
    }

    /// Returns the latest version.
    pub(crate) fn latest(&self) -> Option<&str> {
        self.tags.get("latest").map(String::as_str)
    }

    fn manifest(&self, name: &str, version: &str) -> Option<Result<Manifest, PackageError>> {
        let raw = self.versions.get(version)?;
        let parsed = serde_json::from_str::<Value>(raw.get());
        Some(match parsed {
            Ok(value) => {
                let mut manifest = Manifest::from_registry(&value);
                // The key decides: the content is the publisher's.
                name.clone_into(&mut manifest.name);
                version.clone_into(&mut manifest.version);
                Ok(manifest)
            }
            Err(error) => {
                let (name, problem) = (name.to_owned(), error.to_string());
                Err(PackageError::Metadata { name, problem })
            }
        })
    }

    fn no_version(&self, name: &str, spec: String) -> PackageError {
        let latest = self.latest().unwrap_or("unknown").to_owned();
        PackageError::NoVersion { name: name.to_owned(), spec, latest }
    }
}
