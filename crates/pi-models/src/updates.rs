//! `models-store.json`: records of built-in models that are newer than the catalog.
//!
//! The file has the format of the TypeScript pi: by provider, an object with `models`,
//! `lastModified`, `checkedAt` and `etag`. Nothing is read before a model is looked up, and then
//! only the records of the provider in question are taken apart. A file that cannot be used is
//! ignored as a whole and reported; the catalog always works without it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pi_ai::catalog;
use pi_protocol::Model;
use serde::Deserialize;
use serde_json::value::RawValue;

use pi_config::Diagnostic;

/// Largest size of the file. Larger ones are ignored.
const MAX_SIZE: u64 = 64 * 1024 * 1024;

/// The records of `models-store.json`, read when they are first needed.
#[derive(Debug, Default)]
pub(crate) struct ModelUpdates {
    path: Option<PathBuf>,
    content: OnceLock<Content>,
}

/// The content of the file.
#[derive(Debug, Default)]
struct Content {
    providers: BTreeMap<String, Section>,
    problem: Option<Diagnostic>,
}

/// The records of a provider, taken apart when they are first needed.
#[derive(Debug)]
struct Section {
    text: Box<RawValue>,
    records: OnceLock<Vec<UpdatedRecord>>,
}

/// A record whose id and name are known.
#[derive(Debug)]
pub(crate) struct UpdatedRecord {
    pub(crate) id: String,
    pub(crate) name: String,
    text: Box<RawValue>,
}

/// The object of a provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    models: Vec<Box<RawValue>>,
    last_modified: Option<f64>,
    checked_at: Option<f64>,
}

/// The part of a record that names its model.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

impl ModelUpdates {
    /// Returns the updates in the agent directory. Reads nothing yet.
    pub(crate) fn new(agent_directory: &Path) -> Self {
        Self { path: Some(agent_directory.join("models-store.json")), content: OnceLock::new() }
    }

    /// Returns the records of a provider, sorted by id.
    pub(crate) fn records(&self, provider: &str) -> &[UpdatedRecord] {
        match self.content().providers.get(provider) {
            Some(section) => section.records.get_or_init(|| take_apart(&section.text)),
            None => &[],
        }
    }

    /// Returns the record of a model. A record that this version cannot use counts as absent.
    pub(crate) fn find(&self, provider: &str, id: &str) -> Option<Model> {
        let records = self.records(provider);
        let at = records.binary_search_by(|record| record.id.as_str().cmp(id)).ok()?;
        usable_record(provider, records.get(at)?.text.get()).ok()
    }

    /// Returns the problem of the file, if it was read and has one.
    pub(crate) fn problem(&self) -> Option<Diagnostic> {
        self.content.get()?.problem.clone()
    }

    fn content(&self) -> &Content {
        self.content.get_or_init(|| match &self.path {
            Some(path) => read(path),
            None => Content::default(),
        })
    }
}

fn read(path: &Path) -> Content {
    let ignored = |problem: String| {
        let message =
            format!("{problem}; the file is ignored; `pi models update` writes a new one");
        let problem = Diagnostic::warning(path.to_owned(), message);
        Content { providers: BTreeMap::new(), problem: Some(problem) }
    };
    match std::fs::metadata(path) {
        Err(error) if is_absent(&error) => return Content::default(),
        Err(error) => return ignored(format!("cannot be read ({error})")),
        Ok(found) if found.len() > MAX_SIZE => {
            return ignored(format!("larger than {} MiB", MAX_SIZE / 1024 / 1024));
        }
        Ok(_) => {}
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return ignored(format!("cannot be read ({error})")),
    };
    if text.trim().is_empty() {
        return Content::default();
    }
    match serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(&text) {
        Ok(providers) => {
            let section = |text| Section { text, records: OnceLock::new() };
            let providers = providers.into_iter().map(|(id, text)| (id, section(text))).collect();
            Content { providers, problem: None }
        }
        Err(error) => ignored(format!("not valid: {error}")),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Returns the named records of a provider's object, unless the catalog is newer.
fn take_apart(text: &RawValue) -> Vec<UpdatedRecord> {
    let Ok(entry) = serde_json::from_str::<Entry>(text.get()) else { return Vec::new() };
    let changed = entry.last_modified.or(entry.checked_at).unwrap_or_default();
    if changed <= catalog::COLLECTED_AT_MS as f64 {
        return Vec::new();
    }
    let mut records: Vec<UpdatedRecord> = entry.models.into_iter().filter_map(named).collect();
    records.sort_by(|a, b| a.id.cmp(&b.id));
    records.dedup_by(|later, earlier| later.id == earlier.id);
    records
}

fn named(text: Box<RawValue>) -> Option<UpdatedRecord> {
    let head: Head<'_> = serde_json::from_str(text.get()).ok()?;
    if head.id.is_empty() || head.kind.is_some_and(|kind| kind != "chat") {
        return None;
    }
    let id = head.id.into_owned();
    let name = if head.name.is_empty() { id.clone() } else { head.name.into_owned() };
    Some(UpdatedRecord { id, name, text })
}

/// Parses the record of a chat model, and refuses one that is invalid or would send the key of the
/// provider to a host that the catalog does not name for it.
pub(crate) fn usable_record(provider: &str, text: &str) -> Result<Model, String> {
    let mut model: Model = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if model.id.is_empty() || model.id.chars().any(char::is_control) {
        return Err("the id is empty or has control characters".to_owned());
    }
    if model.provider != provider {
        return Err(format!("it belongs to the provider \"{}\"", model.provider));
    }
    if model.api.is_empty() {
        return Err("it has no \"api\"".to_owned());
    }
    if !is_known_address(provider, &model.base_url) {
        return Err(format!(
            "its address {} is not one of {provider}, so the key could reach another host",
            model.base_url
        ));
    }
    let cost = &model.cost;
    let tiers = cost.tiers.iter();
    let tiers = tiers.flat_map(|tier| [tier.input, tier.output, tier.cache_read, tier.cache_write]);
    let mut prices = tiers.chain([cost.input, cost.output, cost.cache_read, cost.cache_write]);
    if prices.any(|price| !price.is_finite() || price < 0.0) {
        return Err("it has a price below zero".to_owned());
    }
    // A header can identify the client, and pi uses no name but its own.
    model.headers.retain(|name, _| catalog::ALLOWED_HEADERS.contains(&name.as_str()));
    if model.name.is_empty() {
        model.name.clone_from(&model.id);
    }
    Ok(model)
}

/// Returns true if a built-in model of the provider has an address at the same origin.
fn is_known_address(provider: &str, url: &str) -> bool {
    url.is_empty() || catalog::models(provider).any(|known| origin(&known.base_url) == origin(url))
}

/// Returns scheme, host and port of a URL, which may have variables.
fn origin(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    url.get(..scheme.len() + 3 + end)
}
