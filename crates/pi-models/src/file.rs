//! `models.json`: providers and models of the user.
//!
//! The file is read and never written. An invalid file is reported with line and column and ignored
//! as a whole, since half of it could have surprising effects. A valid provider that is incomplete
//! is left out alone. Unknown keys are ignored.

mod violations;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use pi_ai::providers;
use pi_config::Diagnostic;
use pi_protocol::{CostTier, InputKind, InputLimits, PromptCache, ThinkingLevel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::jsonc;
use violations::violations;

/// The content of `models.json`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct ModelsFile {
    /// Providers by id, in the order of the file. The id of a built-in provider changes that
    /// provider; any other id adds one.
    #[serde(deserialize_with = "ordered")]
    #[schemars(with = "BTreeMap<String, ProviderRecord>")]
    pub(crate) providers: Vec<(String, ProviderRecord)>,
}

/// The record of a provider.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ProviderRecord {
    /// Display name.
    #[serde(deserialize_with = "text")]
    pub(crate) name: Option<String>,
    /// URL of requests, also of the provider's built-in models.
    #[serde(deserialize_with = "text")]
    pub(crate) base_url: Option<String>,
    /// Key: the key itself, `$NAME` for a variable, or `!command` for the output of a command.
    #[serde(deserialize_with = "text")]
    pub(crate) api_key: Option<String>,
    /// Wire format of the provider's models, for example `openai-completions`.
    #[serde(deserialize_with = "text")]
    pub(crate) api: Option<String>,
    /// Login method: `radius` signs in to the gateway at `baseUrl`.
    pub(crate) oauth: Option<Login>,
    /// Headers of every request. Values are resolved like keys.
    pub(crate) headers: BTreeMap<String, String>,
    /// Deviations of the endpoint from its wire format.
    pub(crate) compat: Map<String, Value>,
    /// Sends the key as `Authorization: Bearer` too.
    pub(crate) auth_header: bool,
    /// Models to add. A built-in model of the same id is replaced.
    pub(crate) models: Vec<ModelRecord>,
    /// Changes to models, by id.
    pub(crate) model_overrides: BTreeMap<String, ModelOverride>,
}

impl ProviderRecord {
    /// Returns this record with the fields that another one sets.
    pub(crate) fn overridden_by(&self, other: &Self) -> Self {
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

/// A login method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Login {
    /// Login flow of Radius.
    Radius,
}

/// The record of a model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelRecord {
    /// Id that is sent to the provider.
    #[serde(deserialize_with = "required_text")]
    pub(crate) id: String,
    /// Wire format. Defaults to that of the provider.
    #[serde(default, deserialize_with = "text")]
    pub(crate) api: Option<String>,
    /// URL of requests. Defaults to that of the provider.
    #[serde(default, deserialize_with = "text")]
    pub(crate) base_url: Option<String>,
    /// Properties that can be overridden too.
    #[serde(flatten)]
    pub(crate) facts: ModelOverride,
}

/// Changes to a model. Objects are merged field by field, other values are replaced.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ModelOverride {
    /// Display name, by which the model can be selected too.
    #[serde(deserialize_with = "text")]
    pub(crate) name: Option<String>,
    /// The model supports thinking.
    pub(crate) reasoning: Option<bool>,
    /// The provider's names of thinking levels; null marks a level as unsupported.
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    #[serde(deserialize_with = "levels")]
    pub(crate) thinking_level_map: BTreeMap<ThinkingLevel, Option<String>>,
    /// Supported input: `text`, `image`.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) input: Option<Vec<InputKind>>,
    /// Limits on the input of a request.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(crate) input_limits: Option<InputLimits>,
    /// Prices in US dollars per million tokens.
    pub(crate) cost: Option<CostRecord>,
    /// Lifetime of a cached prompt in seconds.
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    pub(crate) prompt_cache: Option<PromptCache>,
    /// Context window: tokens of input and output together.
    #[serde(deserialize_with = "positive")]
    pub(crate) context_window: Option<f64>,
    /// Maximum number of output tokens.
    #[serde(deserialize_with = "positive")]
    pub(crate) max_tokens: Option<f64>,
    /// Fields merged into the body of every request.
    pub(crate) sampling_params: Map<String, Value>,
    /// Fields merged into the body of requests with a thinking level.
    #[schemars(with = "BTreeMap<String, Map<String, Value>>")]
    #[serde(deserialize_with = "levels")]
    pub(crate) sampling_params_by_thinking_level: BTreeMap<ThinkingLevel, Map<String, Value>>,
    /// Headers of every request. Values are resolved like keys.
    pub(crate) headers: BTreeMap<String, String>,
    /// Deviations of the endpoint from its wire format.
    pub(crate) compat: Map<String, Value>,
    /// Models that continue a run if this one is overloaded, out of quota or down, in order.
    pub(crate) fallbacks: Vec<String>,
}

/// Prices in US dollars per million tokens. A new model needs the first four; in an override, a
/// missing price stays unchanged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CostRecord {
    /// Price of uncached input.
    pub(crate) input: Option<f64>,
    /// Price of output.
    pub(crate) output: Option<f64>,
    /// Price of input from the cache.
    pub(crate) cache_read: Option<f64>,
    /// Price of input that is written to the cache.
    pub(crate) cache_write: Option<f64>,
    /// Prices of requests with long input.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(crate) tiers: Option<Vec<CostTier>>,
}

impl ModelsFile {
    /// Returns the ids of the providers in the file.
    pub fn provider_ids(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|(id, _)| id.as_str())
    }

    /// Reads the file at `path`. A missing file is empty; an invalid file is empty with a diagnostic.
    pub fn load(path: &Path) -> (Self, Vec<Diagnostic>) {
        let ignored = |message: String| {
            let diagnostic = Diagnostic::error(path.to_owned(), message);
            (Self::default(), vec![diagnostic])
        };
        match std::fs::read(path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Self::parse(&text, path),
                Err(error) => ignored(format!(
                    "not UTF-8 after {} bytes; the whole file is ignored until this is corrected",
                    error.utf8_error().valid_up_to()
                )),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Default::default(),
            Err(error) => ignored(format!("cannot be read ({error}); check its permissions")),
        }
    }

    /// Parses the text of the file. `path` is used in diagnostics.
    pub fn parse(text: &str, path: &Path) -> (Self, Vec<Diagnostic>) {
        let text = jsonc::plain(text);
        let mut file: Self = match serde_json::from_str(&text) {
            Ok(file) => file,
            Err(error) => {
                let position = format!("line {} column {}", error.line(), error.column());
                let found = violations(&text);
                let problem = if found.is_empty() {
                    error.to_string()
                } else {
                    format!("{} (near {position})", found.join("; "))
                };
                let message =
                    format!("{problem}; the whole file is ignored until this is corrected");
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
    /// Returns the reason why the record is unusable.
    fn problem(&self, id: &str) -> Option<String> {
        if self.base_url.is_none()
            && self.headers.is_empty()
            && self.compat.is_empty()
            && self.model_overrides.is_empty()
            && self.models.is_empty()
            && self.api_key.is_none()
        {
            return Some(
                "it is empty: add models, modelOverrides, a baseUrl, headers, compat or an apiKey"
                    .to_owned(),
            );
        }
        let urls = self.models.iter().map(|model| &model.base_url).chain([&self.base_url]);
        if let Some(url) = urls.flatten().find(|url| lacks_scheme(url)) {
            return Some(format!("\"baseUrl\" has no scheme: write http://{url} or https://{url}"));
        }
        let built_in = providers::provider(id);
        for model in &self.models {
            if model.api.is_none() && self.api.is_none() && built_in.is_none() {
                return Some(format!(
                    "model \"{}\" has no \"api\": add one to the model or the provider, for example openai-completions",
                    model.id
                ));
            }
            if model.base_url.is_none()
                && self.base_url.is_none()
                && built_in.and_then(|info| info.base_url).is_none()
            {
                return Some(format!(
                    "model \"{}\" has no \"baseUrl\": add one to the model or the provider",
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

/// Returns true for a URL that begins with a host. One that begins with a variable may have a scheme.
fn lacks_scheme(url: &str) -> bool {
    !url.contains("://") && url.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
}

/// Reads a map in the order of the file. The last one of equal keys applies.
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

/// Reads entries by thinking level. Unknown levels are ignored.
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
    if text.is_empty() { Err(Error::custom("must not be empty")) } else { Ok(text) }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    required_text(deserializer).map(Some)
}

fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number > 0.0 { Ok(Some(number)) } else { Err(Error::custom("must be more than 0")) }
}
