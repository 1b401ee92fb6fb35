//! `pi auth`: signs in and out; lists, checks, explains, prints and stores credentials.
//!
//! `check` and the two `print` commands are those of the TypeScript pi, for scripts. Only
//! `print-api-key`, `print-bearer-token` and `check --credentials` write a secret to stdout.

mod change;
mod check;
mod doctor;
mod list;
mod login;
mod print;
mod status;

use pi_host::credentials::Credentials;
use pi_models::{InvalidAccount, ModelRequest, SelectModelError};

use super::{CommandResult, Failure, plain, project, success};
use crate::flags::parse::CommandArgs;

pub(super) use change::{logout, set};
pub(super) use check::check;
pub(super) use doctor::doctor;
pub(super) use list::list;
pub(super) use login::{interruptible, login};
pub(super) use print::{api_key, bearer_token};
pub(super) use status::{status, validity};

fn open() -> Result<Credentials, Failure> {
    Ok(Credentials::open(&project::open_silently()?))
}

/// Opens the credentials with the account of `--account`.
fn open_account(args: &CommandArgs) -> Result<Credentials, Failure> {
    let credentials = open()?;
    for text in args.values("account") {
        // A bare name is an account of the provider that the other options select.
        let name = match text.contains('@') {
            true => {
                text.parse().map_err(|error: InvalidAccount| Failure::usage(error.to_string()))?
            }
            false => {
                let provider = provider(args, &credentials)?;
                let provider = provider.map_err(|missing| missing.error())?;
                login::credential_name(&provider, Some(text))?
            }
        };
        credentials.registry.choose_account(name);
    }
    Ok(credentials)
}

/// Reasons why the options select no provider.
enum NoProvider {
    /// The provider does not exist.
    Provider(String),
    /// The model selects no provider.
    Model { text: String, error: SelectModelError },
}

impl NoProvider {
    fn error(&self) -> SelectModelError {
        match self {
            Self::Provider(name) => SelectModelError::UnknownProvider(name.clone()),
            Self::Model { error, .. } => error.clone(),
        }
    }
}

/// Returns the provider that the argument, `--provider` and `--model` select.
fn provider(
    args: &CommandArgs,
    credentials: &Credentials,
) -> Result<Result<String, NoProvider>, Failure> {
    let (word, model) = (args.words.first().map(String::as_str), args.value("model"));
    let provider = match (word, args.value("provider")) {
        (Some(word), Some(option)) if word != option => {
            let path = args.path.join(" ");
            let message = format!("`pi {path}` got two providers: {word} and {option}");
            return Err(Failure::usage(message));
        }
        (word, option) => word.or(option),
    };
    let registry = &credentials.registry;
    Ok(match (provider, model) {
        (None, None) => {
            let path = args.path.join(" ");
            return Err(Failure::usage(format!("`pi {path}` requires a provider or --model")));
        }
        (Some(name), None) => {
            credentials.known(name).ok_or_else(|| NoProvider::Provider(name.to_owned()))
        }
        (provider, Some(text)) => {
            let request = ModelRequest { provider, model: Some(text), ..ModelRequest::default() };
            match wait(registry.request(&request))? {
                Ok(Some(found)) => Ok(found.model.provider.clone()),
                Ok(None) => Err(NoProvider::Model {
                    text: text.to_owned(),
                    error: SelectModelError::NotFound(text.to_owned()),
                }),
                Err(SelectModelError::UnknownProvider(name)) => Err(NoProvider::Provider(name)),
                Err(error) => Err(NoProvider::Model { text: text.to_owned(), error }),
            }
        }
    })
}

/// Runs a future to completion on a runtime of its own.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::failed(format!("cannot start the async runtime: {error}")))?;
    Ok(runtime.block_on(future))
}
