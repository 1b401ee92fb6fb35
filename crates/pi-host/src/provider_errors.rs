//! Errors of providers, as a person reads them: who failed, what happened, and what to do next.
//!
//! Events and session logs keep the text of the provider unchanged, since retries and the recovery
//! from a full context recognize errors by it, and other programs read it.

mod advice;
mod sentence;
#[cfg(test)]
mod tests;

use pi_ai::{AssistantMessage, Model, ProviderFailure, is_context_overflow};
use pi_coding_agent::session::AgentSession;
use pi_config::suggest;
use pi_models::{CredentialName, CredentialSource, ModelRegistry};

/// An error with advice.
#[derive(Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The provider and model, and what happened.
    pub message: String,
    /// An imperative line on what to do.
    pub hint: Option<String>,
}

/// The place where advice is read, which decides the commands that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The command line: options and commands of the program.
    CommandLine,
    /// The interactive mode: slash commands.
    Screen,
}

impl Reader {
    fn choose<'a>(self, on_command_line: &'a str, on_screen: &'a str) -> &'a str {
        match self {
            Self::CommandLine => on_command_line,
            Self::Screen => on_screen,
        }
    }

    /// Returns the way to another model.
    fn model(self) -> &'static str {
        self.choose("--model", "/model")
    }
}

/// The request that failed.
#[derive(Debug)]
pub struct FailedRequest<'a> {
    /// Model of the request.
    pub model: &'a Model,
    /// Source of the credential that was sent.
    pub source: Option<CredentialSource>,
    /// The models, to find one of a similar name and the body of the response.
    pub registry: Option<&'a ModelRegistry>,
    /// The place where the advice is read.
    pub reader: Reader,
}

/// Explains the failure of the last answer; `None` if it was not an error of the provider.
pub fn explain_last(session: &AgentSession) -> Option<Explanation> {
    let messages = session.messages();
    let failed = messages.last()?.as_assistant()?.clone();
    // Only requests have a duration; other failures of a run do not concern the provider.
    failed.duration_ms?;
    let model = session.model()?;
    let request = FailedRequest {
        model: &model,
        source: session.credential_source(),
        registry: session.models().map(|registry| &**registry),
        reader: Reader::CommandLine,
    };
    Some(explain(&failed, &request))
}

/// Explains the failure of an answer.
pub fn explain(failed: &AssistantMessage, request: &FailedRequest<'_>) -> Explanation {
    let error = failed.error_message.as_deref().unwrap_or_default();
    let error = if error.is_empty() { "Request error" } else { error };
    let model = request.model;
    let failure = ProviderFailure::of(error);
    let mut message = format!("{}/{}: ", model.provider, model.id);
    if let Some(sentence) = sentence::sentence(&failure, request) {
        message += &sentence;
        if let Some(status) = failure.status {
            message += &format!(" ({status})");
        }
        message += ": ";
    }
    message += &failure.detail;
    let hint = if is_context_overflow(failed, None) {
        let next = request.reader.choose("start a new one", "shorten it with /compact");
        Some(format!(
            "the session does not fit into the model; {next}, or use a model with a larger context window"
        ))
    } else {
        advice::advice(&failure, request)
    };
    Explanation { message, hint }
}

/// Returns the response to a failed request as it came. The registry has the whole body, the text of
/// the error only a part.
pub fn raw(failed: &AssistantMessage, session: &AgentSession) -> Option<String> {
    let error = failed.error_message.as_deref().filter(|error| !error.is_empty())?;
    let model = session.find_model(&failed.provider, &failed.model).or_else(|| session.model())?;
    let response = session.models().and_then(|registry| registry.last_failure(&model));
    let status = ProviderFailure::of(error).status;
    Some(match response.filter(|response| status.is_none_or(|code| code == response.status)) {
        Some(response) => {
            let (status, body) = (response.status, response.body.trim());
            let body = if body.is_empty() { "no body" } else { body };
            format!("response of {}: HTTP {status}: {body}", model.base_url)
        }
        None => format!("error of {}/{}: {error}", model.provider, model.id),
    })
}

/// Returns models of the provider with similar names.
fn similar_models(request: &FailedRequest<'_>) -> Vec<String> {
    let Some(registry) = request.registry else { return Vec::new() };
    let (models, model) = (registry.models(), request.model);
    let names = models.names_of(&model.provider);
    let others = names.iter().map(|name| name.id).filter(|id| *id != model.id);
    suggest::closest(&model.id, others, 3).into_iter().map(str::to_owned).collect()
}

/// Returns the name of the credential that was sent.
fn credential(request: &FailedRequest<'_>) -> String {
    let provider = &request.model.provider;
    let name = credential_name(request);
    match request.source {
        Some(CredentialSource::Given) => "--api-key".to_owned(),
        Some(CredentialSource::StoredKey) => format!("the key of {name} in auth.json"),
        Some(CredentialSource::Login { .. }) => format!("the login of {name} in auth.json"),
        Some(CredentialSource::ModelsFile) => format!("the apiKey of {provider} in models.json"),
        Some(CredentialSource::Variable(name) | CredentialSource::Cloud(name)) => name.to_owned(),
        Some(CredentialSource::NotNeeded) | None => format!("the key of {provider}"),
    }
}

/// Returns the name of the credential, with its account.
fn credential_name(request: &FailedRequest<'_>) -> CredentialName {
    let provider = &request.model.provider;
    let chosen = request.registry.map(|registry| registry.credential_name(provider));
    chosen.unwrap_or_else(|| CredentialName::new(provider.as_str()))
}

/// Returns true if requests use the tokens of a login.
fn is_login(request: &FailedRequest<'_>) -> bool {
    matches!(request.source, Some(CredentialSource::Login { .. }))
}
