//! Opens the sessions of servers: with the command line of the server, as a client asks.

use std::sync::Arc;

use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::SessionEvent;
use pi_coding_agent::{CreateError, Environment, Project, SelectSessionError};
use pi_host::sessions::shared_directory;
use pi_host::{HostOptions, OpenError, OpenRequest, Opened};
use pi_models::{SelectModelError, UnusableModel};

use super::setup::{self, Agent, Refused};
use crate::arguments::Arguments;

/// Returns the options of a host whose sessions have the command line of the server.
pub(super) fn host(
    arguments: Arc<Arguments>,
    environment: Environment,
    mode: RunMode,
) -> HostOptions {
    let project = Project::open(environment.clone());
    let session_directory = shared_directory(&project, arguments.session_dir.as_deref());
    let base = environment.clone();
    let opener = move |request| {
        let (arguments, base) = (Arc::clone(&arguments), base.clone());
        Box::pin(async move { open(&arguments, base, request, mode).await }) as _
    };
    let mut options = HostOptions::new(Arc::new(opener), environment);
    options.session_directory = session_directory;
    options
}

async fn open(
    arguments: &Arguments,
    base: Environment,
    request: OpenRequest,
    mode: RunMode,
) -> Result<Opened, OpenError> {
    let mut options = match &request.plan.options {
        Some(options) => (**options).clone(),
        None => setup::options(arguments, Environment { cwd: request.plan.cwd.clone(), ..base }),
    };
    let ui = Arc::clone(&request.ui);
    request.apply(&mut options);
    let created = setup::create_silently(arguments, options, ui, mode).await;
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

/// Returns the error: a client asks for credentials, and forgets a missing session.
fn refused(refused: Refused) -> OpenError {
    let is = |fits: fn(&CreateError) -> bool| match &refused {
        Refused::NotCreated(refused) => fits(&refused.error),
        Refused::Failed(_) | Refused::Package(_) => false,
    };
    let is_missing =
        is(|error| matches!(error, CreateError::Session(SelectSessionError::NotFound(_))));
    let needs_credentials = is(|error| {
        let CreateError::Model(SelectModelError::Unusable { reason, .. }) = error else {
            return false;
        };
        matches!(reason, UnusableModel::Credentials(_))
    });
    let failure = refused.into_failure();
    let hint = failure.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    let problem = format!("{}{hint}", failure.message);
    match (is_missing, needs_credentials) {
        (true, _) => OpenError::NotFound(problem),
        (_, true) => OpenError::Credentials(problem),
        _ => OpenError::Refused { problem, outcome: failure.exit },
    }
}
