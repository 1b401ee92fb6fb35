//! The configuration of one server, and the values that it needs to start.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{CommandRuns, ValueResolver};
use url::Url;

use super::approval::Approvals;
use super::oauth::OauthConfig;
use super::table::ToolTable;
use crate::Environment;
use crate::exposure::Exposure;

/// The configuration of one server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Connection to the server.
    pub transport: Transport,
    /// Exposure of tools without an entry in `tool_exposure`.
    pub exposure: Exposure,
    /// Exposure of single tools.
    pub tool_exposure: ToolTable<Exposure>,
    /// Approval of calls.
    pub approvals: Approvals,
    /// Description of the server in a sentence.
    pub description: Option<String>,
    /// The server is connected in sessions.
    pub enabled: bool,
    /// Time limit of a request. Progress restarts it.
    pub timeout: Duration,
}

impl ServerConfig {
    /// Returns the exposure of a tool of the server.
    pub fn exposure_of(&self, tool: &str) -> Exposure {
        self.tool_exposure.get(tool).unwrap_or(self.exposure)
    }

    /// Returns true if a tool may have this exposure; the list of tools is not needed.
    pub fn may_expose(&self, exposure: Exposure) -> bool {
        let mut tools = self.tool_exposure.entries();
        self.exposure == exposure || tools.any(|(_, one)| one == exposure)
    }
}

/// The connection to a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    /// A program that this one starts.
    Stdio(StdioServer),
    /// A server at a URL, with the streamable HTTP transport.
    Http(Box<HttpServer>),
}

/// A server that is a program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StdioServer {
    /// The program: a name or a path, not a line for a shell.
    pub command: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables that the program gets in addition.
    pub env: ConfiguredValues,
    /// Working directory, relative to that of the session.
    pub cwd: Option<String>,
}

/// A server at a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpServer {
    /// The URL of the server.
    pub url: Url,
    /// Headers of every request.
    pub headers: ConfiguredValues,
    /// Settings of the sign-in.
    pub oauth: OauthConfig,
    /// Provider whose token is sent.
    pub provider: Option<String>,
}

impl HttpServer {
    /// Returns true if the server is signed in to by OAuth when it requires that: neither a header
    /// nor a provider supplies the token.
    pub fn uses_oauth(&self) -> bool {
        let has_header = self.headers.names().any(|one| one.eq_ignore_ascii_case("authorization"));
        self.provider.is_none() && !has_header
    }
}

/// Variables or headers as they are written in the file: `${NAME}` is a variable, and `!command` as
/// the whole value is the output of a command.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ConfiguredValues(Vec<(String, String)>);

/// Shows names only: the values may be secrets.
impl fmt::Debug for ConfiguredValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl ConfiguredValues {
    /// Creates values from names and texts.
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(values.into_iter().collect())
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the values with variables replaced and commands run.
    pub async fn resolve(
        &self,
        resolver: &ValueResolver,
    ) -> Result<Vec<(String, String)>, UnresolvedValue> {
        let mut resolved = Vec::with_capacity(self.0.len());
        for (name, text) in &self.0 {
            let value = resolve_value(resolver, name, text).await?;
            resolved.push((name.clone(), value));
        }
        Ok(resolved)
    }
}

/// A configured value that has no value now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of {name} is not available: {reason}")]
pub struct UnresolvedValue {
    /// Name of the variable, header or field.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// Resolves one value. An empty text is a value here: a variable may be meant to be empty.
pub async fn resolve_value(
    resolver: &ValueResolver,
    name: &str,
    text: &str,
) -> Result<String, UnresolvedValue> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let resolved = resolver.resolve(text, &BTreeMap::new(), CommandRuns::EachTime).await;
    resolved.map_err(|reason| UnresolvedValue { name: name.to_owned(), reason })
}

/// The program of a server, ready to be started.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables in addition to those of the session.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: PathBuf,
}

// Shows no values of variables.
pi_protocol::debug_fields!(Launch, command);

impl StdioServer {
    /// Returns the program with its variables, and `~/` replaced by the home directory. Runs the
    /// commands of values.
    pub async fn launch(
        &self,
        environment: &Environment,
        resolver: &ValueResolver,
    ) -> Result<Launch, UnresolvedValue> {
        let in_home = |text: &String| match (text.strip_prefix("~/"), &environment.home) {
            (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
            _ => text.clone(),
        };
        let cwd = self.cwd.as_ref().map(|cwd| environment.expand(cwd, &environment.cwd));
        Ok(Launch {
            command: in_home(&self.command),
            args: self.args.iter().map(in_home).collect(),
            env: self.env.resolve(resolver).await?,
            cwd: cwd.unwrap_or_else(|| environment.cwd.clone()),
        })
    }
}
