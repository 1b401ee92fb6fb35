//! `pi auth`: which credentials there are, whether they are of use, and storing keys.
//!
//! `check` and the two `print` commands are those of the TypeScript pi, for scripts. A secret is
//! written to stdout by `print-api-key`, `print-bearer-token` and `check --credentials`, and by
//! nothing else.

mod change;
mod check;
mod list;
mod print;

use pi_coding_agent::models::{ModelRequest, SelectModelError, SelectedModel, select_model};

use super::credentials::Credentials;
use super::{Done, Failure, credentials, plain, success};
use crate::environment;
use crate::flags::parse::Given;

pub(super) use change::{remove, set};
pub(super) use check::check;
pub(super) use list::list;
pub(super) use print::{api_key, bearer_token};

fn open() -> Result<Credentials, Failure> {
    Ok(Credentials::open(&environment::read().map_err(Failure::Failed)?))
}

/// Why no provider is meant.
enum Unclear {
    /// No provider has this name.
    Provider(String),
    /// The model does not say which provider.
    Model { text: String, error: SelectModelError },
}

impl Unclear {
    fn message(&self) -> String {
        match self {
            Self::Provider(name) => SelectModelError::UnknownProvider(name.clone()).to_string(),
            Self::Model { error, .. } => error.to_string(),
        }
    }
}

/// The provider that `--provider` and `--model` mean.
fn provider(given: &Given, credentials: &Credentials) -> Result<Result<String, Unclear>, Failure> {
    let (provider, model) = (given.value("provider"), given.value("model"));
    let registry = &credentials.registry;
    Ok(match (provider, model) {
        (None, None) => {
            let path = given.path.join(" ");
            return Err(Failure::Usage(format!("`pi {path}` needs --provider or --model")));
        }
        (Some(name), None) => {
            credentials.known(name).ok_or_else(|| Unclear::Provider(name.to_owned()))
        }
        (provider, Some(text)) => {
            let models = registry.models();
            let request = ModelRequest { provider, model: Some(text), ..ModelRequest::default() };
            let usable = |provider: &str| registry.is_available(provider);
            match select_model(&request, &models.names(), &usable) {
                Ok(Some(chosen)) => Ok(match chosen.model {
                    SelectedModel::Known(model) | SelectedModel::Custom { like: model, .. } => {
                        model.provider.to_owned()
                    }
                }),
                Ok(None) => Err(Unclear::Model {
                    text: text.to_owned(),
                    error: SelectModelError::NotFound(text.to_owned()),
                }),
                Err(SelectModelError::UnknownProvider(name)) => Err(Unclear::Provider(name)),
                Err(error) => Err(Unclear::Model { text: text.to_owned(), error }),
            }
        }
    })
}

/// Waits for something that takes a runtime: a command may have to be run.
fn wait<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Failed(format!("could not start: {error}")))?;
    Ok(runtime.block_on(future))
}
