//! Updates of the catalog from a server that the user names.
//!
//! A document has records of models as `models.json` and the catalog have them. Records are checked
//! before they are stored; one that is invalid is left out and reported. The previous records stay
//! if a download fails. Nothing here runs unless the user asks for it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_ai::catalog;
use pi_config::ConfigError;
use pi_config::Environment;
use pi_protocol::now_ms;
use pi_web::{Document, DownloadError, Downloader};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::store::ModelsStore;
use crate::updates::usable_record;

/// Part of a URL that stands for the id of a provider.
const PLACEHOLDER: &str = "{provider}";

/// Largest document. The records of all providers have about 1 MB.
const MAX_DOCUMENT: u64 = 16 * 1024 * 1024;

/// Time limit of one download.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Downloads at the same time.
const AT_ONCE: usize = 4;

/// Depth of records in a document: provider, `models` or format, record.
const MAX_DEPTH: usize = 4;

/// Result of an update.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CatalogUpdate {
    /// Results by provider.
    pub providers: BTreeMap<String, Result<ProviderUpdate, UpdateError>>,
    /// New path of a store that was not valid JSON.
    pub moved_aside: Option<PathBuf>,
}

/// Result of the update of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderUpdate {
    /// The server has the version that is stored.
    Unchanged,
    /// The records are older than the catalog of this version, so they were not stored.
    Older,
    /// Records were stored.
    Stored {
        /// Number of chat models.
        models: usize,
        /// Ids of chat models that the catalog lacks.
        added: Vec<String>,
        /// Records that were left out, with the reason.
        refused: Vec<String>,
    },
}

/// Reasons why a provider was not updated. Its records are unchanged.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The document cannot be downloaded.
    #[error(transparent)]
    Download(Arc<DownloadError>),
    /// The download took too long.
    #[error("no complete answer within {} s", TIME_LIMIT.as_secs())]
    TimedOut,
    /// The document is not JSON.
    #[error("the answer is not JSON: {0}")]
    Syntax(String),
    /// The document has no usable record of the provider.
    #[error("the answer has no usable model of {provider}{}", refused.first().map(|first| format!(": {first}")).unwrap_or_default())]
    NoModels {
        /// Id of the provider.
        provider: String,
        /// Records that were left out, with the reason.
        refused: Vec<String>,
    },
}

/// The new entry of a provider in the store.
enum NewEntry {
    /// The entry is still current.
    Checked,
    Replaced(Map<String, Value>),
}

/// Downloads the records of these providers from `url` and stores those that are valid. `url` has
/// `{provider}` in place of an id, or is one document with all providers.
pub async fn update_models(
    environment: &Environment,
    proxy: Option<String>,
    url: &str,
    providers: &[String],
) -> Result<CatalogUpdate, ConfigError> {
    let variables = Arc::clone(&environment.variables);
    let variable = move |name: &str| variables.get(name).cloned();
    let downloader = Downloader::new(Arc::new(variable), proxy);
    let store = ModelsStore::new(&environment.agent_directory);
    let known = store.read();
    let fetched = if url.contains(PLACEHOLDER) {
        each(&downloader, url, providers, &known).await
    } else {
        together(&downloader, url, providers, &known).await
    };
    let mut entries = BTreeMap::new();
    let mut update = CatalogUpdate::default();
    for (provider, result) in fetched {
        let result = result.map(|document| match document {
            None => (ProviderUpdate::Unchanged, Some(NewEntry::Checked)),
            Some(fetched) => fetched,
        });
        let result = result.map(|(result, entry)| {
            entries.extend(entry.map(|entry| (provider.clone(), entry)));
            result
        });
        update.providers.insert(provider, result);
    }
    if !entries.is_empty() {
        update.moved_aside = store.change(|content| apply(content, entries))?;
    }
    Ok(update)
}

type Fetched = Result<Option<(ProviderUpdate, Option<NewEntry>)>, UpdateError>;

/// Downloads one document per provider, a few at a time.
async fn each(
    downloader: &Downloader,
    url: &str,
    providers: &[String],
    known: &Map<String, Value>,
) -> Vec<(String, Fetched)> {
    let mut results = Vec::new();
    let mut tasks = JoinSet::new();
    let mut waiting = providers.iter();
    loop {
        while tasks.len() < AT_ONCE
            && let Some(provider) = waiting.next()
        {
            let (downloader, template) = (downloader.clone(), url.to_owned());
            let (provider, etag) = (provider.clone(), known_version(known, provider, url));
            tasks.spawn(async move {
                let address = template.replace(PLACEHOLDER, &provider);
                let document = fetch(&downloader, &address, etag.as_deref()).await;
                let result = document.and_then(|document| {
                    let Some(document) = document else { return Ok(None) };
                    let content = parse(&document)?;
                    checked(&provider, &content, &document, &template).map(Some)
                });
                (provider, result)
            });
        }
        match tasks.join_next().await {
            // A task panics only if the runtime is shut down.
            Some(finished) => results.extend(finished.ok()),
            None => return results,
        }
    }
}

/// Downloads one document with all providers.
async fn together(
    downloader: &Downloader,
    url: &str,
    providers: &[String],
    known: &Map<String, Value>,
) -> Vec<(String, Fetched)> {
    let versions: Vec<Option<String>> =
        providers.iter().map(|provider| known_version(known, provider, url)).collect();
    let first = versions.first().cloned().flatten();
    // One version can be asked for only if all providers have it.
    let etag = first.filter(|first| versions.iter().all(|one| one.as_ref() == Some(first)));
    let content = match fetch(downloader, url, etag.as_deref()).await {
        Ok(Some(document)) => parse(&document).map(|content| Some((document, content))),
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    };
    let result = |provider: &String| match &content {
        Ok(None) => Ok(None),
        Ok(Some((document, content))) => {
            let content = content.get("providers").unwrap_or(content);
            let own = content.get(provider).unwrap_or(&Value::Null);
            checked(provider, own, document, url).map(Some)
        }
        Err(error) => Err(error.clone()),
    };
    providers.iter().map(|provider| (provider.clone(), result(provider))).collect()
}

async fn fetch(
    downloader: &Downloader,
    url: &str,
    etag: Option<&str>,
) -> Result<Option<Document>, UpdateError> {
    let headers = [("Accept".to_owned(), "application/json".to_owned())];
    let download = downloader.document(url, &headers, etag, MAX_DOCUMENT);
    match tokio::time::timeout(TIME_LIMIT, download).await {
        Ok(document) => document.map_err(|error| UpdateError::Download(Arc::new(error))),
        Err(_) => Err(UpdateError::TimedOut),
    }
}

fn parse(document: &Document) -> Result<Value, UpdateError> {
    serde_json::from_slice(&document.body).map_err(|error| UpdateError::Syntax(error.to_string()))
}

/// Returns the stored version of a provider's records, if they come from this URL.
fn known_version(known: &Map<String, Value>, provider: &str, url: &str) -> Option<String> {
    let entry = known.get(provider)?;
    if entry["url"] != url || entry["models"].as_array().is_none_or(Vec::is_empty) {
        return None;
    }
    entry["etag"].as_str().map(str::to_owned)
}

/// Checks the records of a provider.
fn checked(
    provider: &str,
    content: &Value,
    document: &Document,
    url: &str,
) -> Result<(ProviderUpdate, Option<NewEntry>), UpdateError> {
    let mut found = Vec::new();
    collect(content, MAX_DEPTH, &mut found);
    let (mut stored, mut added, mut refused, mut count) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for record in found {
        let mut record = record.clone();
        record.entry("provider").or_insert_with(|| provider.into());
        let is_chat = record.get("type").is_none_or(|kind| kind == "chat");
        let record = Value::Object(record);
        if is_chat {
            match usable_record(provider, &record.to_string()) {
                Ok(model) => {
                    count += 1;
                    if catalog::find(provider, &model.id).is_none() {
                        added.push(model.id);
                    }
                }
                Err(reason) => {
                    let id = record["id"].as_str().unwrap_or_default();
                    refused.push(format!("{id}: {reason}"));
                    continue;
                }
            }
        }
        stored.push(record);
    }
    if count == 0 {
        return Err(UpdateError::NoModels { provider: provider.to_owned(), refused });
    }
    if document.last_modified_ms.is_some_and(|changed| changed <= catalog::COLLECTED_AT_MS) {
        return Ok((ProviderUpdate::Older, None));
    }
    let mut entry = Map::new();
    entry.insert("models".to_owned(), Value::Array(stored));
    if let Some(changed) = document.last_modified_ms {
        entry.insert("lastModified".to_owned(), changed.into());
    }
    if let Some(etag) = &document.etag {
        entry.insert("etag".to_owned(), etag.as_str().into());
    }
    entry.insert("url".to_owned(), url.into());
    let update = ProviderUpdate::Stored { models: count, added, refused };
    Ok((update, Some(NewEntry::Replaced(entry))))
}

/// Collects the records of a document: in a list, under `models`, by id, or by format and id.
fn collect<'v>(value: &'v Value, depth: usize, found: &mut Vec<&'v Map<String, Value>>) {
    match value {
        Value::Object(record) if record.get("id").is_some_and(Value::is_string) => {
            found.push(record);
        }
        Value::Object(group) if depth > 0 => {
            group.values().for_each(|value| collect(value, depth - 1, found));
        }
        Value::Array(list) if depth > 0 => {
            list.iter().for_each(|value| collect(value, depth - 1, found));
        }
        _ => {}
    }
}

fn apply(content: &mut Map<String, Value>, entries: BTreeMap<String, NewEntry>) {
    let now = json!(now_ms() as u64);
    for (provider, entry) in entries {
        match entry {
            NewEntry::Checked => {
                if let Some(Value::Object(known)) = content.get_mut(&provider) {
                    known.insert("checkedAt".to_owned(), now.clone());
                }
            }
            NewEntry::Replaced(mut entry) => {
                entry.insert("checkedAt".to_owned(), now.clone());
                content.insert(provider, Value::Object(entry));
            }
        }
    }
}
