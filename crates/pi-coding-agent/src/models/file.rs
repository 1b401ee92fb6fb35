//! `models.json`: providers and models of the user.
//!
//! Read and never written. A file that is not as it should be is reported with line and column and
//! ignored as a whole, so that half of it cannot surprise anybody; a provider that is well formed
//! but makes no sense is left out alone. Unknown keys mean nothing here and are no error.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use pi_ai::providers;
use pi_protocol::{CostTier, InputKind, InputLimits, PromptCache, ThinkingLevel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::jsonc;
use super::violations::violations;
use crate::Diagnostic;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct ModelsFile {
    /// Providers by id, in the order of the file. The id of a built-in provider changes it, any
    /// other adds one.
    #[serde(deserialize_with = "ordered")]
    #[schemars(with = "BTreeMap<String, ProviderRecord>")]
    pub providers: Vec<(String, ProviderRecord)>,
}

/// A provider.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderRecord {
    /// A name for people.
    #[serde(deserialize_with = "text")]
    pub name: Option<String>,
    /// Where requests go; also those of the provider's built-in models.
    #[serde(deserialize_with = "text")]
    pub base_url: Option<String>,
    /// The key: itself, `$NAME` for a variable, or `!command` for what a command prints.
    #[serde(deserialize_with = "text")]
    pub api_key: Option<String>,
    /// The wire format of the provider's models, for example `openai-completions`.
    #[serde(deserialize_with = "text")]
    pub api: Option<String>,
    /// How to sign in. Kept for the TypeScript pi; nothing here acts on it yet.
    pub oauth: Option<Login>,
    /// Headers of every request. Values are found like keys.
    pub headers: BTreeMap<String, String>,
    /// Where the endpoint differs from its wire format's norm.
    pub compat: Map<String, Value>,
    /// Send the key as `Authorization: Bearer` too.
    pub auth_header: bool,
    /// Models to add, or to put in place of built-in ones of the same id.
    pub models: Vec<ModelRecord>,
    /// What to change about models, by id.
    pub model_overrides: BTreeMap<String, ModelOverride>,
}

impl ProviderRecord {
    /// Returns this record with the fields that another one sets.
    pub(super) fn overridden_by(&self, other: &Self) -> Self {
        let mut record = self.clone();
        record.name = other.name.clone().or(record.name);
        record.base_url = other.base_url.clone().or(record.base_url);
        record.api_key = other.api_key.clone().or(record.api_key);
        record.api = other.api.clone().or(record.api);
        record.oauth = other.oauth.or(record.oauth);
        record.headers.extend(other.headers.clone());
        record.compat.extend(other.compat.clone());
        record.auth_header |= other.auth_header;
        record.models.extend(other.models.iter().cloned());
        record.model_overrides.extend(other.model_overrides.clone());
        record
    }
}

/// A way to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Login {
    /// The flow of Radius.
    Radius,
}

/// A model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRecord {
    /// The id that is sent to the provider.
    #[serde(deserialize_with = "required_text")]
    pub id: String,
    /// The wire format, if not the provider's.
    #[serde(default, deserialize_with = "text")]
    pub api: Option<String>,
    /// Where requests go, if not where the provider's go.
    #[serde(default, deserialize_with = "text")]
    pub base_url: Option<String>,
    /// Everything that can be overridden too.
    #[serde(flatten)]
    pub facts: ModelOverride,
}

/// What to change about a model. Objects are merged field by field, other values replace.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelOverride {
    /// A name for people, which `--model` finds too.
    #[serde(deserialize_with = "text")]
    pub name: Option<String>,
    /// The model can think.
    pub reasoning: Option<bool>,
    /// The provider's words for thinking levels; null marks a level as unsupported.
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    #[serde(deserialize_with = "levels")]
    pub thinking_level_map: BTreeMap<ThinkingLevel, Option<String>>,
    /// What the model takes: `text`, `image`.
    #[schemars(with = "Option<Vec<String>>")]
    pub input: Option<Vec<InputKind>>,
    /// Limits on what a request may carry.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub input_limits: Option<InputLimits>,
    /// Prices in US dollars per million tokens.
    pub cost: Option<CostRecord>,
    /// How long the provider keeps a cached prompt, in seconds.
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    pub prompt_cache: Option<PromptCache>,
    /// Tokens of input and output together.
    #[serde(deserialize_with = "positive")]
    pub context_window: Option<f64>,
    /// Tokens of output at most.
    #[serde(deserialize_with = "positive")]
    pub max_tokens: Option<f64>,
    /// Fields merged into the body of every request.
    pub sampling_params: Map<String, Value>,
    /// The same at a given thinking level.
    #[schemars(with = "BTreeMap<String, Map<String, Value>>")]
    #[serde(deserialize_with = "levels")]
    pub sampling_params_by_thinking_level: BTreeMap<ThinkingLevel, Map<String, Value>>,
    /// Headers of every request. Values are found like keys.
    pub headers: BTreeMap<String, String>,
    /// Where the endpoint differs from its wire format's norm.
    pub compat: Map<String, Value>,
}

/// Prices; those that are missing stay as they are. A new model needs the first four.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CostRecord {
    /// Fresh input.
    pub input: Option<f64>,
    /// Output.
    pub output: Option<f64>,
    /// Input read from the cache.
    pub cache_read: Option<f64>,
    /// Input written to the cache.
    pub cache_write: Option<f64>,
    /// Prices of requests with much input.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub tiers: Option<Vec<CostTier>>,
}

impl ModelsFile {
    /// The file at `path`: empty if there is none, and empty with a diagnostic if it is broken.
    pub fn load(path: &Path) -> (Self, Vec<Diagnostic>) {
        let ignored = |message: String| {
            let diagnostic = Diagnostic::error(path.to_owned(), message);
            (Self::default(), vec![diagnostic])
        };
        match std::fs::read(path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Self::parse(&text, path),
                Err(error) => ignored(format!(
                    "not UTF-8 after {} bytes; the whole file is ignored until it is",
                    error.utf8_error().valid_up_to()
                )),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Default::default(),
            Err(error) => ignored(format!("cannot be read ({error}); check its permissions")),
        }
    }

    /// The file from its text. `path` is for the diagnostics.
    pub fn parse(text: &str, path: &Path) -> (Self, Vec<Diagnostic>) {
        let text = jsonc::plain(text);
        let mut file: Self = match serde_json::from_str(&text) {
            Ok(file) => file,
            Err(error) => {
                let place = format!("line {} column {}", error.line(), error.column());
                let found = violations(&text);
                let what = if found.is_empty() {
                    error.to_string()
                } else {
                    format!("{} (near {place})", found.join("; "))
                };
                let message = format!("{what}; the whole file is ignored until this is corrected");
                return (Self::default(), vec![Diagnostic::error(path.to_owned(), message)]);
            }
        };
        let mut diagnostics = Vec::new();
        file.providers.retain(|(id, provider)| match provider.problem(id) {
            None => true,
            Some(problem) => {
                let message = format!("provider \"{id}\": {problem}; the provider is left out");
                diagnostics.push(Diagnostic::error(path.to_owned(), message));
                false
            }
        });
        (file, diagnostics)
    }
}

impl ProviderRecord {
    /// Why the record makes no sense.
    fn problem(&self, id: &str) -> Option<String> {
        if self.base_url.is_none()
            && self.headers.is_empty()
            && self.compat.is_empty()
            && self.model_overrides.is_empty()
            && self.models.is_empty()
            && self.api_key.is_none()
        {
            return Some("it says nothing: give it models, modelOverrides, a baseUrl, headers, compat or an apiKey".to_owned());
        }
        let built_in = providers::provider(id);
        for model in &self.models {
            if model.api.is_none() && self.api.is_none() && built_in.is_none() {
                return Some(format!(
                    "model \"{}\" has no \"api\": give the model or the provider one, for example openai-completions",
                    model.id
                ));
            }
            if model.base_url.is_none()
                && self.base_url.is_none()
                && built_in.and_then(|info| info.base_url).is_none()
            {
                return Some(format!(
                    "model \"{}\" has no \"baseUrl\": give the model or the provider one",
                    model.id
                ));
            }
            let cost = model.facts.cost.as_ref();
            if cost.is_some_and(|cost| {
                [cost.input, cost.output, cost.cache_read, cost.cache_write].contains(&None)
            }) {
                return Some(format!(
                    "the cost of model \"{}\" needs input, output, cacheRead and cacheWrite",
                    model.id
                ));
            }
        }
        None
    }
}

/// A map in the order of the file; of two equal keys the last one counts.
fn ordered<'de, D, T>(deserializer: D) -> Result<Vec<(String, T)>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Pairs<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of providers")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs: Vec<(String, T)> = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, T>()? {
                match pairs.iter_mut().find(|(known, _)| *known == key) {
                    Some(pair) => pair.1 = value,
                    None => pairs.push((key, value)),
                }
            }
            Ok(pairs)
        }
    }
    deserializer.deserialize_map(Pairs(PhantomData))
}

/// Entries by thinking level; names that are no levels mean nothing.
fn levels<'de, D, T>(deserializer: D) -> Result<BTreeMap<ThinkingLevel, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let named = BTreeMap::<String, T>::deserialize(deserializer)?;
    Ok(named.into_iter().filter_map(|(name, value)| Some((name.parse().ok()?, value))).collect())
}

fn required_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(Error::custom("this text must not be empty")) } else { Ok(text) }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    required_text(deserializer).map(Some)
}

fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number > 0.0 { Ok(Some(number)) } else { Err(Error::custom("must be more than 0")) }
}
