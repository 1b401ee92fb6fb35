//! The forms of API keys: what each provider needs besides a key.
//!
//! A form is data. The terminal, scripts and the screen fill it through the same questions.

use std::collections::BTreeMap;
use std::fmt;

use pi_ai::providers;
use pi_coding_agent::Environment;
use pi_config::StoredCredential;
use pi_config::suggest;
use pi_web::oauth::{Cancelled, Interaction, Prompt, PromptKind};
use serde_json::Map;

/// The maximum length of a key.
pub const LONGEST: usize = 64 * 1024;

/// A kind of credential that a provider accepts.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// The name for `--method`.
    pub name: &'static str,
    /// The label in a list.
    pub label: &'static str,
    /// The kind of secret that is asked for; `None` if the machine has it.
    pub secret: Option<&'static str>,
    /// The variables that are stored with the secret.
    pub variables: &'static [Variable],
}

/// A variable that is stored with the key.
#[derive(Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name of the environment variable.
    pub name: &'static str,
    /// Question to the user.
    pub question: &'static str,
    /// The credential cannot be used without it.
    pub is_required: bool,
}

const fn required(name: &'static str, question: &'static str) -> Variable {
    Variable { name, question, is_required: true }
}

const fn optional(name: &'static str, question: &'static str) -> Variable {
    Variable { name, question, is_required: false }
}

const fn method(
    name: &'static str,
    label: &'static str,
    secret: Option<&'static str>,
    variables: &'static [Variable],
) -> Method {
    Method { name, label, secret, variables }
}

const KEY: &[Method] = &[method("key", "API key", Some("API key"), &[])];

const REGION: Variable = optional("AWS_REGION", "AWS region, such as us-east-1");
const PROJECT: Variable = required("GOOGLE_CLOUD_PROJECT", "Google Cloud project");
const LOCATION: Variable =
    required("GOOGLE_CLOUD_LOCATION", "Location, such as us-central1 or global");
const ACCOUNT: Variable = required("CLOUDFLARE_ACCOUNT_ID", "Cloudflare account id");

const FORMS: &[(&str, &[Method])] = &[
    (
        "amazon-bedrock",
        &[
            method("bearer", "Bedrock API key (bearer token)", Some("Bedrock API key"), &[REGION]),
            method(
                "profile",
                "AWS profile",
                None,
                &[required("AWS_PROFILE", "Name of the AWS profile"), REGION],
            ),
            method("chain", "AWS credentials of this machine", None, &[REGION]),
        ],
    ),
    (
        "google-vertex",
        &[
            method("key", "API key", Some("API key"), &[]),
            method("adc", "Application default credentials (gcloud)", None, &[PROJECT, LOCATION]),
            method(
                "service-account",
                "Service account file",
                None,
                &[
                    required("GOOGLE_APPLICATION_CREDENTIALS", "Path of the service account file"),
                    PROJECT,
                    LOCATION,
                ],
            ),
        ],
    ),
    (
        "azure",
        &[
            method(
                "key",
                "API key",
                Some("API key"),
                &[required(
                    "AZURE_OPENAI_BASE_URL",
                    "Base URL, such as https://NAME.openai.azure.com/openai/v1",
                )],
            ),
            method(
                "entra",
                "Microsoft Entra ID of this machine",
                None,
                &[required(
                    "AZURE_OPENAI_BASE_URL",
                    "Base URL, such as https://NAME.openai.azure.com/openai/v1",
                )],
            ),
        ],
    ),
    ("cloudflare-workers-ai", &[method("key", "API key", Some("API key"), &[ACCOUNT])]),
    (
        "cloudflare-ai-gateway",
        &[method(
            "key",
            "API key",
            Some("API key"),
            &[ACCOUNT, required("CLOUDFLARE_GATEWAY_ID", "Cloudflare gateway id")],
        )],
    ),
];

/// A form that cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormError {
    /// The user cancelled.
    Cancelled,
    /// The problem of a key. Does not quote the text, which may be most of a secret.
    Key(&'static str),
    /// A required variable is missing.
    Missing {
        /// Id of the provider.
        provider: String,
        /// Name of the variable.
        variable: &'static str,
    },
    /// The provider has no such variable.
    UnknownVariable {
        /// Id of the provider.
        provider: String,
        /// Name of the variable.
        variable: String,
        /// A variable with a similar name.
        similar: Option<&'static str>,
    },
    /// The provider has no such method.
    UnknownMethod {
        /// Id of the provider.
        provider: String,
        /// Name of the method.
        method: String,
        /// Names of all methods.
        known: Vec<&'static str>,
    },
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("nothing was stored"),
            Self::Key(problem) => write!(f, "the input {problem}; nothing was stored"),
            Self::Missing { provider, variable } => write!(f, "{provider} requires {variable}"),
            Self::UnknownVariable { provider, variable, similar } => {
                write!(f, "{provider} has no variable {variable}")?;
                similar.map_or(Ok(()), |name| write!(f, "; did you mean {name}?"))
            }
            Self::UnknownMethod { provider, method, known } => {
                let known = known.join(", ");
                write!(f, "invalid method \"{method}\" of {provider}: expected {known}")
            }
        }
    }
}

impl From<Cancelled> for FormError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Returns the kinds of credentials of a provider. The first one is the default.
pub fn methods(provider: &str) -> &'static [Method] {
    FORMS.iter().find(|(id, _)| *id == provider).map_or(KEY, |(_, methods)| methods)
}

/// Returns the method of this name, or the default.
pub fn find(provider: &str, name: Option<&str>) -> Result<&'static Method, FormError> {
    let all = methods(provider);
    let found = match name {
        None => all.first(),
        Some(name) => all.iter().find(|method| method.name == name),
    };
    found.ok_or_else(|| FormError::UnknownMethod {
        provider: provider.to_owned(),
        method: name.unwrap_or_default().to_owned(),
        known: all.iter().map(|method| method.name).collect(),
    })
}

/// The answers of a form.
#[derive(Default)]
pub struct Answers {
    /// The secret, if the method has one.
    pub secret: Option<String>,
    /// Values of variables.
    pub variables: BTreeMap<String, String>,
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("variables", &self.variables).finish_non_exhaustive()
    }
}

/// Asks for everything that `given` lacks.
pub async fn ask(
    provider: &str,
    method: Option<&str>,
    given: BTreeMap<String, String>,
    environment: &Environment,
    interaction: &dyn Interaction,
) -> Result<StoredCredential, FormError> {
    let method = match (method, methods(provider)) {
        (None, several) if several.len() > 1 => {
            let choices = several
                .iter()
                .map(|method| (method.name.to_owned(), method.label.to_owned()))
                .collect();
            let message = format!("Credentials of {}", display_name(provider));
            let prompt = Prompt { message, kind: PromptKind::Select { choices } };
            find(provider, Some(&interaction.ask(prompt).await?))?
        }
        (name, _) => find(provider, name)?,
    };
    let mut answers = Answers { secret: None, variables: given };
    if let Some(secret) = method.secret {
        let message = format!("{secret} of {provider}");
        let key = interaction.ask(Prompt { message, kind: PromptKind::Secret }).await?;
        if let Some(problem) = check_key(&key) {
            return Err(FormError::Key(problem));
        }
        answers.secret = Some(key);
    }
    for variable in method.variables {
        if answers.variables.contains_key(variable.name) {
            continue;
        }
        let default = environment.variable(variable.name);
        let message = match variable.is_required {
            true => variable.question.to_owned(),
            false => format!("{} (optional)", variable.question),
        };
        let kind = PromptKind::Text { default: default.map(str::to_owned) };
        let value = interaction.ask(Prompt { message, kind }).await?;
        if !value.trim().is_empty() {
            answers.variables.insert(variable.name.to_owned(), value.trim().to_owned());
        }
    }
    credential(provider, method, answers)
}

/// Returns the credential of a filled form.
pub fn credential(
    provider: &str,
    method: &'static Method,
    answers: Answers,
) -> Result<StoredCredential, FormError> {
    let known = || methods(provider).iter().flat_map(|method| method.variables);
    for name in answers.variables.keys() {
        if !known().any(|variable| variable.name == name) {
            let similar = suggest::nearest(name, known().map(|variable| variable.name));
            let (provider, variable) = (provider.to_owned(), name.clone());
            return Err(FormError::UnknownVariable { provider, variable, similar });
        }
    }
    for variable in method.variables.iter().filter(|variable| variable.is_required) {
        if !answers.variables.contains_key(variable.name) {
            let (provider, variable) = (provider.to_owned(), variable.name);
            return Err(FormError::Missing { provider, variable });
        }
    }
    let key = match (method.secret, answers.secret) {
        (None, _) => None,
        (Some(_), Some(key)) => match check_key(&key) {
            Some(problem) => return Err(FormError::Key(problem)),
            None => Some(literal(key.trim())),
        },
        (Some(_), None) => return Err(FormError::Key("contains no key")),
    };
    Ok(StoredCredential::ApiKey { key, env: answers.variables, extra: Map::new() })
}

/// Returns what is wrong with a text that is meant to be a key. It does not quote the text, which may
/// be most of a secret.
pub fn check_key(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if text.is_empty() {
        Some("contains no key")
    } else if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        Some("contains more than one word")
    } else if text.len() > LONGEST {
        Some("is longer than any key")
    } else {
        None
    }
}

/// Escapes a key for `auth.json`, where `$` and `!` introduce a variable or a command.
fn literal(key: &str) -> String {
    let escaped = key.replace('$', "$$");
    if escaped.starts_with('!') { format!("${escaped}") } else { escaped }
}

/// Returns the name of a provider for people.
pub fn display_name(provider: &str) -> String {
    providers::provider(provider).map_or(provider, |info| info.name).to_owned()
}
