//! An entry of `mcpServers`: from JSON to a configuration, with the place of the first problem.
//!
//! Unknown fields are accepted, since other clients have fields of their own.

use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use super::approval::{Approval, Approvals, Layer};
use super::oauth::OauthConfig;
use super::server::{ConfiguredValues, HttpServer, ServerConfig, StdioServer, Transport};
use super::table::ToolTable;
use crate::exposure::Exposure;

/// Time limit of a request without `timeout`.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Fields that a project may set for a server of the user.
const OVERRIDES: [&str; 5] = ["enabled", "exposure", "toolExposure", "approval", "toolApproval"];

/// A problem with a field. The text is the place inside the entry and the problem.
#[derive(Debug)]
pub(super) struct Problem(String);

impl Problem {
    pub(super) fn new(field: &str, problem: &str) -> Self {
        Self(format!(".{field}: {problem}"))
    }
}

impl From<Problem> for String {
    fn from(problem: Problem) -> Self {
        problem.0
    }
}

type Fields = Map<String, Value>;

impl ServerConfig {
    /// Reads an entry of `mcpServers`. The error is the place inside the entry, which begins with a
    /// dot unless it is the entry itself, and the problem.
    pub fn parse(name: &str, value: &Value) -> Result<Self, String> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_allowed) {
            return Err(": a name has only letters, digits, _ and -".to_owned());
        }
        let Value::Object(fields) = value else {
            return Err(": expected an object".to_owned());
        };
        let transport = transport(fields)?;
        Ok(Self {
            transport,
            exposure: exposure(fields)?.unwrap_or(Exposure::Codemode),
            tool_exposure: tool_exposure(fields)?.unwrap_or_default(),
            approvals: Approvals { own: approvals(fields)?, project: Layer::default() },
            description: text(fields, "description")?,
            enabled: flag(fields, "enabled")?.unwrap_or(true),
            timeout: timeout(fields)?,
        })
    }
}

/// Returns true if an entry changes a server that is defined elsewhere.
pub(super) fn is_override(fields: &Fields) -> bool {
    !["command", "url", "type"].iter().any(|name| fields.contains_key(*name))
}

/// Applies the fields of a project to a server of the user.
pub(super) fn override_server(config: &mut ServerConfig, fields: &Fields) -> Result<(), String> {
    if let Some(other) = fields.keys().find(|name| !OVERRIDES.contains(&name.as_str())) {
        let problem = format!("an override has only {}", OVERRIDES.join(", "));
        return Err(Problem::new(other, &problem).into());
    }
    let project = approvals(fields)?;
    check_project_approvals(&project)?;
    let (enabled, new) = (flag(fields, "enabled")?, exposure(fields)?);
    if let Some(table) = tool_exposure(fields)? {
        config.tool_exposure = table;
    }
    config.enabled = enabled.unwrap_or(config.enabled);
    config.exposure = new.unwrap_or(config.exposure);
    config.approvals.project = project;
    Ok(())
}

impl ServerConfig {
    /// Rejects what only the user can decide: sending the token of a login, and allowing calls. The
    /// author of a project or of an extension does not answer for them.
    pub fn check_foreign(&self) -> Result<(), String> {
        if let Transport::Http(http) = &self.transport
            && http.provider.is_some()
        {
            return Err(Problem::new("auth", "is allowed in the user's mcp.json only").into());
        }
        check_project_approvals(&self.approvals.own)
    }
}

fn check_project_approvals(layer: &Layer) -> Result<(), String> {
    if layer.allows_anything() {
        let problem = "\"allow\" is accepted in the user's mcp.json only";
        return Err(Problem::new("approval", problem).into());
    }
    Ok(())
}

fn transport(fields: &Fields) -> Result<Transport, Problem> {
    let kind = fields.get("type").map(|value| value.as_str().unwrap_or_default());
    let (is_http, is_stdio) = match kind {
        None => (true, true),
        Some("http" | "streamable-http") => (true, false),
        Some("stdio") => (false, true),
        Some("sse") => {
            let problem = "the old SSE transport is not supported; use the streamable HTTP URL \
                           of the server, often /mcp instead of /sse";
            return Err(Problem::new("type", problem));
        }
        Some(_) => {
            let problem = "expected \"stdio\", \"http\" or \"streamable-http\"";
            return Err(Problem::new("type", problem));
        }
    };
    if is_http && let Some(url) = text(fields, "url")? {
        return http(fields, &url).map(|http| Transport::Http(Box::new(http)));
    }
    if is_stdio && let Some(command) = text(fields, "command")? {
        return stdio(fields, command).map(Transport::Stdio);
    }
    let needed = match kind {
        None => "needs `command` (a program) or `url` (streamable HTTP)",
        Some("stdio") => "needs `command`",
        Some(_) => "needs `url`",
    };
    Err(Problem(format!(": {needed}")))
}

fn stdio(fields: &Fields, command: String) -> Result<StdioServer, Problem> {
    let args = match fields.get("args") {
        None => Vec::new(),
        Some(value) => {
            strings(value).ok_or_else(|| Problem::new("args", "expected a list of texts"))?
        }
    };
    let (env, cwd) = (values(fields, "env")?, text(fields, "cwd")?);
    Ok(StdioServer { command, args, env, cwd })
}

fn http(fields: &Fields, text: &str) -> Result<HttpServer, Problem> {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let Some(url) = Url::parse(text).ok().filter(is_web) else {
        return Err(Problem::new("url", "expected an http or https URL"));
    };
    let provider = match fields.get("auth") {
        None => None,
        Some(auth) => {
            let provider = auth.get("provider").and_then(Value::as_str);
            let Some(provider) = provider.filter(|name| !name.is_empty()) else {
                return Err(Problem::new("auth.provider", "expected the name of a provider"));
            };
            if !is_safe(&url) {
                let problem = "needs an https URL, or http on localhost, 127.0.0.1 or [::1]";
                return Err(Problem::new("auth", problem));
            }
            Some(provider.to_owned())
        }
    };
    let (headers, oauth) = (values(fields, "headers")?, OauthConfig::parse(fields)?);
    Ok(HttpServer { url, headers, oauth, provider })
}

fn exposure(fields: &Fields) -> Result<Option<Exposure>, Problem> {
    fields.get("exposure").map(|value| named_exposure("exposure", value)).transpose()
}

fn tool_exposure(fields: &Fields) -> Result<Option<ToolTable<Exposure>>, Problem> {
    table(fields, "toolExposure", named_exposure)
}

fn named_exposure(field: &str, value: &Value) -> Result<Exposure, Problem> {
    match value.as_str() {
        Some("codemode" | "codemode-deferred") => Ok(Exposure::Codemode),
        Some("deferred") => Ok(Exposure::Deferred),
        Some("direct") => Ok(Exposure::Direct),
        Some("hidden") => Ok(Exposure::Hidden),
        _ => {
            let problem = "expected \"codemode\", \"deferred\", \"direct\" or \"hidden\"";
            Err(Problem::new(field, problem))
        }
    }
}

fn approvals(fields: &Fields) -> Result<Layer, Problem> {
    let server =
        fields.get("approval").map(|value| named_approval("approval", value)).transpose()?;
    let tools = table(fields, "toolApproval", named_approval)?.unwrap_or_default();
    Ok(Layer { server, tools })
}

fn named_approval(field: &str, value: &Value) -> Result<Approval, Problem> {
    let found = Approval::ALL.into_iter().find(|one| value.as_str() == Some(one.as_str()));
    found.ok_or_else(|| Problem::new(field, "expected \"allow\", \"ask\" or \"deny\""))
}

fn table<T: Copy>(
    fields: &Fields,
    field: &str,
    read: impl Fn(&str, &Value) -> Result<T, Problem>,
) -> Result<Option<ToolTable<T>>, Problem> {
    let entries = match fields.get(field) {
        None => return Ok(None),
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err(Problem::new(field, "expected an object of values by tool")),
    };
    let entry = |(tool, value): (&String, &Value)| {
        Ok((tool.clone(), read(&format!("{field}.{tool}"), value)?))
    };
    entries.iter().map(entry).collect::<Result<Vec<_>, _>>().map(ToolTable::new).map(Some)
}

fn timeout(fields: &Fields) -> Result<Duration, Problem> {
    let Some(value) = fields.get("timeout") else { return Ok(TIMEOUT) };
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| Problem::new("timeout", "expected a positive number of seconds"))
}

fn text(fields: &Fields, field: &str) -> Result<Option<String>, Problem> {
    match fields.get(field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Problem::new(field, "expected a text")),
    }
}

fn flag(fields: &Fields, field: &str) -> Result<Option<bool>, Problem> {
    match fields.get(field) {
        None => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(Problem::new(field, "expected true or false")),
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?;
    list.iter().map(|one| one.as_str().map(str::to_owned)).collect()
}

fn values(fields: &Fields, field: &str) -> Result<ConfiguredValues, Problem> {
    let invalid = || Problem::new(field, "expected an object of texts");
    let entries = match fields.get(field) {
        None => return Ok(ConfiguredValues::default()),
        Some(value) => value.as_object().ok_or_else(invalid)?,
    };
    let entry = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    let entries: Option<Vec<_>> = entries.iter().map(entry).collect();
    entries.map(ConfiguredValues::new).ok_or_else(invalid)
}

/// Returns true for URLs to which secrets may be sent: encrypted, or on this machine.
pub(super) fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

pub(super) fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}
