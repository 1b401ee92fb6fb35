//! Hints: what the user can do about an error.
//!
//! Library errors describe the problem and know nothing of the command line. This file maps them to
//! one imperative line about the options and commands of `pi`, printed after the message.

use pi_ai::providers;
use pi_coding_agent::guard::GuardError;
use pi_coding_agent::session::PromptError;
use pi_coding_agent::{CreateError, Omission, SelectSessionError, UnknownToolError};
use pi_models::{CredentialError, ModelOrigin, SelectModelError, UnusableModel};
use pi_packages::PackageError;
use pi_session::{SessionError, read_header};

use crate::flags::suggest;

/// An error with a hint for users of the command line.
pub(crate) trait Hint {
    /// Returns the hint, or `None` if the message says everything.
    fn hint(&self) -> Option<String>;
}

impl Hint for CreateError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.hint(),
            Self::UnknownDefault(_) => {
                Some("until then, choose a model for this run with --model".to_owned())
            }
            Self::Session(error) => error.hint(),
            Self::Guard(error) => error.hint(),
            Self::Tools(error) => error.hint(),
            Self::UnknownFlag(_) | Self::FlagValue(_) => Some("see `pi --help`".to_owned()),
            Self::UnsandboxedExecutor(_) => {
                Some("use --executor local, or --profile explore without a sandbox".to_owned())
            }
            _ => None,
        }
    }
}

impl Hint for PackageError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Location(_) => "sources are described in `pi help packages`".to_owned(),
            Self::NoSuchPath(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!(
                    "a name alone is a directory; for a package of npm write npm:{name}, for a \
                     repository git:HOST/OWNER/NAME (see `pi help packages`)"
                )
            }
            Self::NotConfigured(_) => "list the packages with `pi list`".to_owned(),
            Self::NoPackage { .. } => {
                "check the name; the registry is configured in ~/.npmrc".to_owned()
            }
            Self::UnsupportedDependency { .. } => {
                "set `npmCommand` to install packages with npm: `pi config set npmCommand npm`"
                    .to_owned()
            }
            Self::Download(error) if error.is_transient() => {
                "check the connection; proxies come from HTTPS_PROXY or the setting httpProxy"
                    .to_owned()
            }
            Self::Program { program, .. } => format!("install {program}, or correct the settings"),
            Self::Damaged { .. } => "remove the file and repeat the command".to_owned(),
            _ => return None,
        })
    }
}

impl Hint for Omission {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Extensions { .. } => "silence this with -ne".to_owned(),
            Self::UntrustedProject { .. } | Self::UntrustedHooks { .. } => {
                "review them, then run `pi trust add`, or use --approve for one run".to_owned()
            }
            Self::Tool { name, known } => return near_tool(name, known),
        })
    }
}

impl Hint for UnknownToolError {
    fn hint(&self) -> Option<String> {
        let (names, known) = match self {
            Self::Excluded { name, known } => (std::slice::from_ref(name), known),
            Self::NoneSelected { names, known } => (names.as_slice(), known),
            _ => return None,
        };
        let near = names.iter().find_map(|name| near_tool(name, known));
        near.or_else(|| Some(format!("the tools are {}", known.join(", "))))
    }
}

fn near_tool(name: &str, known: &[String]) -> Option<String> {
    let near = suggest::nearest(name, known.iter().map(String::as_str))?;
    Some(format!("did you mean {near}?"))
}

impl Hint for SelectSessionError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(_) => Some(FIND_SESSIONS.to_owned()),
            Self::Ambiguous(..) => Some(LONGER_ID.to_owned()),
            Self::AmbiguousName(..) => Some(ID_OF_NAME.to_owned()),
            Self::Elsewhere { id, .. } => Some(format!(
                "run pi in that directory, or continue a copy of the session here with --fork {id}"
            )),
            Self::DirectoryGone { file, .. } => Some(format!(
                "create the directory, or continue a copy of the session here with --fork {}",
                file.display()
            )),
            Self::Exists(id) => {
                Some(format!("resume it with --session {id}, or choose another --session-id"))
            }
            Self::Session(SessionError::Locked(path)) => {
                let id = read_header(path).map(|header| header.id);
                let copy = id.unwrap_or_else(|| path.display().to_string());
                Some(format!("continue a copy with --fork {copy}"))
            }
            Self::Session(SessionError::Io(_)) => {
                Some("to work without a session file, use --no-session".to_owned())
            }
            _ => None,
        }
    }
}

/// Hint for a session reference that matches nothing.
pub(crate) const FIND_SESSIONS: &str = "list all sessions with `pi sessions list --all`";

/// Hint for a name that several sessions have.
pub(crate) const ID_OF_NAME: &str = "give the id instead of the name";

/// Hint for a session reference that matches several sessions.
pub(crate) const LONGER_ID: &str = "give more characters of the id";

impl Hint for SelectModelError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownProvider(_) => "see the providers with `pi models --all`".to_owned(),
            Self::NotFound(_) => "see the models with `pi models`".to_owned(),
            Self::Unusable { origin, reason, .. } => {
                let other = match origin {
                    ModelOrigin::Default => {
                        "choose another model with --model, or change the default in settings.json"
                    }
                    _ => "choose another model with --model",
                };
                reason.hint().map_or_else(|| other.to_owned(), |own| format!("{own}, or {other}"))
            }
            Self::Ambiguous { .. } => {
                "choose a provider with --provider, or write the model as PROVIDER/ID".to_owned()
            }
            _ => return None,
        })
    }
}

impl Hint for GuardError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Settings(_) | Self::Rules(_) => {
                Some("fix the file or remove it; no command runs without a valid policy".to_owned())
            }
            Self::Omitted { omission: Omission::Extensions { .. }, .. } => Some(
                "run without extensions with -ne; replace those that refuse tool calls by rules \
                 (see `pi policy`)"
                    .to_owned(),
            ),
            Self::Omitted { .. } => Some(
                "review them, then run `pi trust add`, or use --approve or --no-approve for one \
                 run"
                .to_owned(),
            ),
            Self::Sandbox(_) => {
                Some("see `pi doctor` for the isolation that this machine offers".to_owned())
            }
            _ => None,
        }
    }
}

impl Hint for PromptError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoModel => Some(FIRST_MODEL.to_owned()),
            Self::Unusable(reason) => reason.hint(),
            _ => None,
        }
    }
}

/// Hint for a user who has no model yet.
pub(crate) const FIRST_MODEL: &str = "sign in with `pi auth login`, store a key with `pi auth set \
    PROVIDER`, or start a model server on this machine (Ollama, LM Studio, llama.cpp, vLLM); \
    `pi demo` shows pi at work without a model";

/// Returns the hint for users of the screen, which has commands of its own.
#[cfg(feature = "screen")]
pub(crate) fn on_screen(error: &PromptError) -> Option<String> {
    Some(match error {
        PromptError::NoModel => "Sign in or store a key with /login, or start a model server on \
             this machine and choose a model with /model. /demo shows pi at work without a model."
            .to_owned(),
        PromptError::Unusable(UnusableModel::Credentials(CredentialError::Missing {
            provider,
            ..
        })) => format!(
            "Store a key or sign in with /login {provider}, or choose another model with /model."
        ),
        PromptError::Unusable(_) => "Choose another model with /model.".to_owned(),
        error => return error.hint(),
    })
}

impl Hint for UnusableModel {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Credentials(error) => error.hint(),
            Self::Address { variables, .. } => Some(format!("set {}", variables.join(" and "))),
            Self::Unsupported { .. } => {
                Some("list the models that can be used with --list-models".to_owned())
            }
            Self::NoServer { .. } => Some("start the server".to_owned()),
            _ => None,
        }
    }
}

impl Hint for CredentialError {
    fn hint(&self) -> Option<String> {
        match self {
            // The message names the environment variable already.
            Self::Missing { provider, .. } => accepts_keys(provider).then(|| store_key(provider)),
            _ => None,
        }
    }
}

fn store_key(provider: &str) -> String {
    format!("store a key with `pi auth set {provider}`")
}

/// Returns the environment variable for the key of a built-in provider.
fn key_variable(provider: &str) -> Option<&'static str> {
    providers::provider(provider)?.key_env.last().copied()
}

/// Returns false for built-in providers that accept only logins.
fn accepts_keys(provider: &str) -> bool {
    providers::provider(provider).is_none() || key_variable(provider).is_some()
}
