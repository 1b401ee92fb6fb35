//! Lists: all pages, bounded.

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::request::Draft;
use super::{CallOptions, Client, ClientError};
use crate::error::invalid;
use crate::protocol::{CacheScope, Page, Prompt, Resource, ResourceTemplate, methods};
use crate::text::shown;

/// The most pages of a list.
const MAX_PAGES: usize = 1_000;
/// The most items of a list.
const MAX_ITEMS: usize = 20_000;
/// The most bytes of a list, as JSON.
const MAX_BYTES: usize = 32 << 20;
/// The most problems that are reported.
const MAX_PROBLEMS: usize = 20;

/// A list with all its pages.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T> {
    /// The items.
    pub items: Vec<T>,
    /// Time for which the list stays fresh, in milliseconds: the shortest of its pages (modern).
    pub ttl_ms: Option<u64>,
    /// Clients that may share the list (modern).
    pub cache_scope: Option<CacheScope>,
    /// Items that were left out, with the reasons.
    pub problems: Vec<String>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), ttl_ms: None, cache_scope: None, problems: Vec::new() }
    }
}

impl Client {
    /// Lists all resources.
    pub async fn list_resources(&self) -> Result<List<Resource>, ClientError> {
        self.list(methods::RESOURCES_LIST, "resources").await
    }

    /// Lists all templates of resources.
    pub async fn list_resource_templates(&self) -> Result<List<ResourceTemplate>, ClientError> {
        self.list(methods::RESOURCE_TEMPLATES_LIST, "resourceTemplates").await
    }

    /// Lists all prompts.
    pub async fn list_prompts(&self) -> Result<List<Prompt>, ClientError> {
        self.list(methods::PROMPTS_LIST, "prompts").await
    }

    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        method: &str,
        field: &str,
    ) -> Result<List<T>, ClientError> {
        let mut list = List::default();
        let mut seen = HashSet::new();
        let mut params = Map::new();
        let mut bytes = 0;
        for _ in 0..MAX_PAGES {
            let mut draft = Draft::new(method, params);
            // Others wait for a list, so a server cannot draw it out.
            draft.is_extensible = false;
            let mut page: Page = self.request_as(draft, &CallOptions::default()).await?;
            let Some(Value::Array(items)) = page.items.remove(field) else {
                return Err(invalid(method, &format!("it has no list `{field}`")));
            };
            bytes += items.iter().map(json_size).sum::<usize>();
            if bytes > MAX_BYTES {
                let problem = format!("a list of more than {} MiB", MAX_BYTES >> 20);
                return Err(ClientError::TooLarge(problem));
            }
            list.add(items);
            if list.items.len() > MAX_ITEMS {
                let problem = format!("more than {MAX_ITEMS} items");
                return Err(ClientError::TooLarge(problem));
            }
            list.ttl_ms = match (list.ttl_ms, page.ttl_ms) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            list.cache_scope = match (list.cache_scope, page.cache_scope) {
                (Some(CacheScope::Private), _) | (_, Some(CacheScope::Private)) => {
                    Some(CacheScope::Private)
                }
                (a, b) => a.or(b),
            };
            let Some(cursor) = page.next_cursor else { return Ok(list) };
            if !seen.insert(cursor.clone()) {
                return Err(invalid(method, "the same page follows itself"));
            }
            params = Map::from_iter([("cursor".to_owned(), Value::String(cursor))]);
        }
        let problem = format!("more than {MAX_PAGES} pages");
        Err(ClientError::TooLarge(problem))
    }
}

impl<T: DeserializeOwned> List<T> {
    /// Adds the items of a page. One bad item does not cost the others.
    fn add(&mut self, items: Vec<Value>) {
        for item in items {
            match serde_json::from_value(item) {
                Ok(item) => self.items.push(item),
                Err(error) => self.add_problem(shown(&format!("an item is invalid: {error}"))),
            }
        }
    }
}

/// Returns the approximate size of a value as JSON.
pub fn json_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(list) => list.iter().map(|value| json_size(value) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + json_size(value) + 4).sum::<usize>() + 2
        }
        _ => 8,
    }
}

impl<T> List<T> {
    pub(super) fn add_problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}
