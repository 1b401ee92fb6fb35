//! Errors of providers, as a person reads them: who failed, the original text, and what to do next.
//!
//! Events and session logs keep the text of the provider unchanged, since retries and the recovery
//! from a full context recognize errors by it, and other programs read it.

use pi_ai::{AssistantMessage, Model, is_context_overflow, providers};
use pi_coding_agent::models::CredentialSource;
use pi_coding_agent::session::AgentSession;

use crate::exit::Exit;

/// An error with advice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) exit: Exit,
}

/// The place where advice is read, which decides the commands that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
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

/// Explains the failure of the last answer; `None` if it was not an error of the provider.
pub(crate) fn explain_last(session: &AgentSession) -> Option<Explanation> {
    let messages = session.messages();
    let failed = messages.last()?.as_assistant()?.clone();
    // Only requests have a duration; other failures of a run do not concern the provider.
    failed.duration_ms?;
    let model = session.model()?;
    Some(explain(&failed, &model, session.credential_source(), Reader::CommandLine))
}

/// Explains the failure of an answer.
pub(crate) fn explain(
    failed: &AssistantMessage,
    model: &Model,
    source: Option<CredentialSource>,
    reader: Reader,
) -> Explanation {
    let error = failed.error_message.as_deref().unwrap_or_default();
    let error = if error.is_empty() { "Request error" } else { error };
    let (provider, text) = (&model.provider, without_html(error));
    let status = status(error);
    let refused = matches!(status, Some(401 | 403)) || error.contains("API key not valid");
    let message = match status {
        Some(code) if refused => {
            format!("{provider}/{}: {provider} refused the key ({code}): {text}", model.id)
        }
        _ => format!("{provider}/{}: {text}", model.id),
    };
    let is_key_error = error.starts_with("No API key") || error.contains(" cannot be resolved: ");
    let exit = if refused || is_key_error { Exit::NoModel } else { Exit::Failed };
    let hint = if refused {
        let check = format!("and see `pi auth check --provider {provider}`");
        let next = reader.choose(&check, "or enter another one with /login");
        Some(format!("check {}, {next}", key(source, model)))
    } else if is_context_overflow(failed, None) {
        let next = reader.choose("start a new one", "shorten it with /compact");
        Some(format!(
            "the session does not fit into the model; {next}, or use a model with a larger context window"
        ))
    } else {
        advice(error, status, model, source, reader)
    };
    Explanation { message, hint, exit }
}

fn advice(
    error: &str,
    status: Option<u16>,
    model: &Model,
    source: Option<CredentialSource>,
    reader: Reader,
) -> Option<String> {
    let select = reader.model();
    let (provider, url) = (&model.provider, &model.base_url);
    let contains = |part: &str| error.to_lowercase().contains(part);
    let in_file = |what: &str| match providers::provider(provider) {
        Some(_) => format!("{what}; the address is {url}"),
        None => format!("{what}; the baseUrl of {provider} in models.json is {url}"),
    };
    Some(if contains("invalidcontenttype") || contains("received corrupt message") {
        let plain = url.replacen("https://", "http://", 1);
        format!("the server at {url} does not speak TLS; use {plain} as baseUrl of {provider}")
    } else if contains("not allowed in a header") {
        let key = key(source, model);
        format!("{key} may contain a line break or another control character; set it again without")
    } else if contains("is not a valid url") {
        in_file("correct the address")
    } else if contains("connection refused") && is_local(url) {
        format!("start the server at {url}, or choose another model with {select}")
    } else if contains("connection error") || contains("connection timed out") {
        in_file("check the network")
    } else if is_html(error) || (status == Some(404) && error.trim().len() < 40) {
        in_file("check the address: this does not look like the API")
    } else if contains("stream ended") || contains("connection lost") {
        let next = reader
            .choose("run the prompt again, for example with `pi -c`", "send the prompt again");
        format!("the server ended the answer early; {next}")
    } else {
        match status? {
            404 => {
                let list = format!("see --list-models {provider}");
                let next = reader.choose(&list, "choose another one with /model");
                format!("{provider} may not have this model; {next}")
            }
            429 => format!(
                "the rate limit or quota of {provider} is used up; wait, or choose another model with {select}"
            ),
            402 => format!("the account at {provider} has no credit left"),
            500.. => format!(
                "{provider} has a problem; try again later, or choose another model with {select}"
            ),
            _ => return None,
        }
    })
}

/// Returns the name of the key that was sent.
fn key(source: Option<CredentialSource>, model: &Model) -> String {
    let provider = &model.provider;
    match source {
        Some(CredentialSource::Given) => "--api-key".to_owned(),
        Some(CredentialSource::StoredKey) => format!("the key of {provider} in auth.json"),
        Some(CredentialSource::Login { .. }) => format!("the login of {provider} in auth.json"),
        Some(CredentialSource::ModelsFile) => format!("the apiKey of {provider} in models.json"),
        Some(CredentialSource::Variable(name)) => name.to_owned(),
        Some(CredentialSource::NotNeeded) | None => format!("the key of {provider}"),
    }
}

/// Returns the HTTP status at the beginning of an error, or in the JSON of one.
fn status(error: &str) -> Option<u16> {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let code: u16 = text[..end].parse().ok()?;
        (400..600).contains(&code).then_some(code)
    };
    digits(error).or_else(|| digits(error.split_once("\"code\":")?.1.trim_start()))
}

fn html_start(error: &str) -> Option<usize> {
    let lower = error.to_ascii_lowercase();
    lower.find("<!doctype html").or_else(|| lower.find("<html"))
}

fn is_html(error: &str) -> bool {
    html_start(error).is_some()
}

/// Replaces a page by its title.
fn without_html(error: &str) -> String {
    let Some(start) = html_start(error) else { return error.to_owned() };
    let (head, page) = error.split_at(start);
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|at| {
        let from = at + "<title>".len();
        let length = lower[from..].find("</title>")?;
        Some(page[from..from + length].trim())
    });
    match title {
        Some(title) if !title.is_empty() => format!("{head}an HTML page, \"{title}\""),
        _ => format!("{head}an HTML page"),
    }
}

/// Returns true if the URL points to this machine.
fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["localhost", "127.", "[::1]"].iter().any(|start| host.starts_with(start))
}

#[cfg(test)]
mod tests {
    use pi_ai::StopReason;
    use serde_json::json;

    use super::*;

    fn explained(provider: &str, url: &str, error: &str) -> Explanation {
        let model: Model = serde_json::from_value(json!({
            "id": "m", "provider": provider, "api": "openai-completions", "baseUrl": url,
        }))
        .unwrap();
        let failed = AssistantMessage {
            stop_reason: StopReason::Error,
            error_message: Some(error.to_owned()),
            ..AssistantMessage::pending(&model)
        };
        explain(&failed, &model, Some(CredentialSource::Variable("THE_KEY")), Reader::CommandLine)
    }

    #[test]
    fn advice_on_the_screen_names_slash_commands() {
        let model: Model = serde_json::from_value(json!({
            "id": "m", "provider": "p", "api": "openai-completions", "baseUrl": "http://[::1]:1",
        }))
        .unwrap();
        let errors = [
            ("401: no", "/login"),
            ("404: {\"message\":\"The model m does not exist, or no access\"}", "/model"),
            ("429: slow down", "/model"),
            ("503: later", "/model"),
            ("400: prompt is too long: 250000 tokens > 200000 maximum", "/compact"),
            ("Stream ended without finish_reason", "send the prompt again"),
            ("Connection error: Connection refused (os error 111)", "/model"),
        ];
        for (error, command) in errors {
            let failed = AssistantMessage {
                stop_reason: StopReason::Error,
                error_message: Some(error.to_owned()),
                ..AssistantMessage::pending(&model)
            };
            let hint = explain(&failed, &model, None, Reader::Screen).hint.unwrap();
            assert!(hint.contains(command) && !hint.contains("--"), "{error}: {hint}");
        }
    }

    #[test]
    fn errors_say_who_failed_and_what_to_do() {
        let cloud = "https://api.example/v1";
        let cases = [
            (
                cloud,
                "401: {\"message\":\"bad key\"}",
                "p refused the key (401): 401: {\"message\":\"bad key\"}",
                "check THE_KEY, and see `pi auth check --provider p`",
                5,
            ),
            (
                cloud,
                "{\"error\":{\"code\":403,\"message\":\"no\"}}",
                "p refused the key (403): {\"error\":{\"code\":403,\"message\":\"no\"}}",
                "check THE_KEY",
                5,
            ),
            (
                cloud,
                "404: <html><head><Title> Not Found </title></head>rest</html>",
                "404: an HTML page, \"Not Found\"",
                "check the address: this does not look like the API; the baseUrl of p in models.json is https://api.example/v1",
                1,
            ),
            (
                cloud,
                "404: {\"message\":\"The model m does not exist, or you have no access\"}",
                "404: ",
                "p may not have this model",
                1,
            ),
            (
                cloud,
                "429: {\"message\":\"slow down\"}",
                "429: {\"message\":\"slow down\"}",
                "the rate limit or quota of p",
                1,
            ),
            (
                cloud,
                "529: {\"message\":\"Overloaded\"}",
                "529: ",
                "p has a problem; try again later",
                1,
            ),
            (
                cloud,
                "400: prompt is too long: 250000 tokens > 200000 maximum",
                "400: prompt is too long",
                "the session does not fit",
                1,
            ),
            (
                cloud,
                "Stream ended without finish_reason",
                "Stream ended without",
                "the server ended the answer early",
                1,
            ),
            (
                cloud,
                "The value of header \"x-api-key\" has characters that are not allowed in a header",
                "The value",
                "THE_KEY may contain a line break",
                1,
            ),
            (
                "https://127.0.0.1:9/v1",
                "Connection error: received corrupt message of type InvalidContentType (127.0.0.1:9)",
                "Connection error",
                "the server at https://127.0.0.1:9/v1 does not speak TLS; use http://127.0.0.1:9/v1 as baseUrl of p",
                1,
            ),
            (
                "http://127.0.0.1:9/v1",
                "Connection error: Connection refused (os error 111) (127.0.0.1:9)",
                "Connection error",
                "start the server at http://127.0.0.1:9/v1",
                1,
            ),
            (
                cloud,
                "Connection error: failed to lookup address (api.example)",
                "Connection error",
                "check the network; the baseUrl of p",
                1,
            ),
        ];
        for (url, error, message, hint, code) in cases {
            let found = explained("p", url, error);
            assert!(found.message.starts_with(&format!("p/m: {message}")), "{error}: {found:?}");
            let has_hint = found.hint.as_deref().is_some_and(|text| text.starts_with(hint));
            assert!(has_hint, "{error}: {found:?}");
            assert_eq!(found.exit.code(), code, "{error}");
        }
        assert_eq!(explained("p", cloud, "400: {\"message\":\"odd\"}").hint, None);
    }
}
