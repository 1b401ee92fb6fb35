//! `pi acp`: an editor controls agents over stdin and stdout.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use pi_acp::{Ended, OpenError, OpenRequest, Opened, Options, serve};
use pi_coding_agent::extension::RunMode;
use pi_coding_agent::models::{CredentialName, SelectModelError, UnusableModel};
use pi_coding_agent::session::SessionEvent;
use pi_coding_agent::{CreateError, Environment, SelectSessionError};
use pi_host::credentials::Credentials;
use pi_host::sessions::{self, shared_directory};
use pi_session::SessionInfo;

use super::setup::{self, Agent, Refused};
use super::signals::signal;
use crate::arguments::Arguments;
use crate::exit::{Exit, fail};
use crate::flags::acp::arguments;
use crate::flags::parse::CommandArgs;

/// Serves a client until it closes its end.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let arguments = match arguments(args) {
        Ok(arguments) => arguments,
        Err(error) => return fail(&error, Exit::Usage),
    };
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return fail(&error, Exit::Configuration),
    };
    let options = options(args, arguments, environment);
    super::block_on(async {
        let mut received = None;
        let stop = async { received = Some(signal().await) };
        let ended = serve(options, tokio::io::stdin(), tokio::io::stdout(), stop).await;
        match (received, ended) {
            (Some(exit), _) => exit.into(),
            (None, Ended::Write(_)) => Exit::BrokenPipe.into(),
            (None, Ended::Read(error)) => {
                fail(&format!("cannot read the input: {error}"), Exit::Failed)
            }
            (None, _) => Exit::Completed.into(),
        }
    })
}

fn options(args: &CommandArgs, mut arguments: Arguments, environment: Environment) -> Options {
    let guard = arguments.settings.get("guard");
    let least_profile = guard.and_then(|guard| guard["profile"].as_str()).map(str::to_owned);
    // Sessions have working directories of their own, to which the option does not refer.
    if let Some(directory) = arguments.session_dir.take().filter(|given| !given.is_empty()) {
        let directory = environment.expand(&directory, &environment.cwd);
        arguments.session_dir = Some(directory.to_string_lossy().into_owned());
    }
    let session_directory = shared_directory(&environment, arguments.session_dir.as_deref());
    let agent_directory = environment.agent_directory.clone();
    let base = environment.clone();
    let arguments = Arc::new(arguments);
    let (checked, cleared) = (environment.clone(), environment.clone());
    Options {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        environment,
        session_directory,
        least_profile,
        client_files: !args.has("no-client-files"),
        client_terminal: args.has("client-terminal"),
        sign_in_arguments: vec!["--login".to_owned()],
        open: Arc::new(move |request| {
            let (arguments, base) = (Arc::clone(&arguments), base.clone());
            Box::pin(async move { open(&arguments, base, request).await })
        }),
        delete: Arc::new(move |file| {
            let agent_directory = agent_directory.clone();
            Box::pin(async move { delete(file, agent_directory).await })
        }),
        authenticate: Arc::new(move || {
            let environment = checked.clone();
            Box::pin(async move { authenticate(&environment) })
        }),
        log_out: Arc::new(move || {
            let environment = cleared.clone();
            Box::pin(async move { log_out(&environment).await })
        }),
    }
}

async fn open(
    arguments: &Arguments,
    base: Environment,
    request: OpenRequest,
) -> Result<Opened, OpenError> {
    let environment = Environment { cwd: request.cwd.clone(), ..base };
    let mut options = setup::options(arguments, environment);
    let ui = Arc::clone(&request.ui);
    request.apply(&mut options);
    let created = setup::create_silently(arguments, options, ui, RunMode::Rpc).await;
    let Agent { runtime, notices } = created.map_err(refused)?;
    // Not every client shows notices; editors keep what is on stderr in their logs.
    notices.iter().for_each(setup::report);
    let notices = notices.iter().filter_map(|notice| match notice {
        SessionEvent::Diagnostic { message, hint, .. } => {
            let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            Some(format!("{message}{hint}"))
        }
        _ => None,
    });
    Ok(Opened { notices: notices.collect(), runtime })
}

fn refused(refused: Refused) -> OpenError {
    let kind: fn(String) -> OpenError = match &refused {
        Refused::NotCreated(refused) => kind(&refused.error),
        Refused::Failed(_) | Refused::Package(_) => OpenError::Failed,
    };
    let failure = refused.into_failure();
    let hint = failure.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    kind(format!("{}{hint}", failure.message))
}

/// Returns the kind of an error: a client asks for credentials, and forgets a missing session.
fn kind(error: &CreateError) -> fn(String) -> OpenError {
    match error {
        CreateError::Session(SelectSessionError::NotFound(_)) => OpenError::NotFound,
        CreateError::Model(SelectModelError::Unusable {
            reason: UnusableModel::Credentials(_),
            ..
        }) => OpenError::Credentials,
        _ => OpenError::Failed,
    }
}

async fn delete(file: PathBuf, agent_directory: PathBuf) -> Result<(), String> {
    let removing = tokio::task::spawn_blocking(move || {
        let session = SessionInfo::read(&file).map_err(|error| error.to_string())?;
        let removed =
            sessions::remove(&session, &agent_directory, |path| std::fs::remove_file(path));
        removed.map_err(|error| error.to_string())
    });
    removing.await.map_err(|error| error.to_string())?
}

/// Checks that a model can be used.
fn authenticate(environment: &Environment) -> Result<(), String> {
    match Credentials::open(environment).registry.available().is_empty() {
        true => Err("no provider has credentials; run `pi auth login` in a terminal, or set a \
                     key such as ANTHROPIC_API_KEY for the editor"
            .to_owned()),
        false => Ok(()),
    }
}

/// Removes all stored credentials.
async fn log_out(environment: &Environment) -> Result<(), String> {
    let credentials = Credentials::open(environment);
    for entry in credentials.store.list().map_err(|error| error.to_string())? {
        let name = entry.parse().unwrap_or_else(|_| CredentialName::new(entry));
        credentials.registry.logout(&name).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}
