//! `pi mcp serve`: other programs use pi as an MCP server.
//!
//! `plan` is the command line. `service` is what the protocol sees, `perform` one run, `approver` asks
//! the caller's user, `sessions` and `templates` are resources and prompts. Runs, their budget and the
//! ceilings of callers are those of `pi-host`.

mod approver;
mod arguments;
mod changed_files;
mod perform;
mod plan;
mod service;
mod sessions;
mod templates;
mod tools;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "serve")]
use pi_coding_agent::Environment;
#[cfg(feature = "serve")]
use pi_host::Directories;
#[cfg(feature = "serve")]
use pi_mcp::server::HttpHandler;
use pi_mcp::server::Server;
use tokio::net::TcpListener;

use super::signals::signal;
#[cfg(feature = "serve")]
use crate::arguments::Arguments;
use crate::exit::{Exit, fail, note};
use crate::flags::parse::CommandArgs;
use plan::{Http, Plan};
use service::PiService;

/// The time that runs have to end.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// Serves until the client is gone or a signal arrives.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let plan = crate::environment::read().and_then(|environment| Plan::new(args, environment));
    match plan {
        Ok(plan) => super::block_on(serve(plan)),
        Err(error) => fail(&error, Exit::Usage),
    }
}

/// The service on the listener of another server.
#[cfg(feature = "serve")]
pub(super) struct Mounted(Arc<PiService>);

#[cfg(feature = "serve")]
impl Mounted {
    /// Ends all runs. Those that take too long are given up.
    pub(super) async fn end(&self) {
        self.0.runs().abort_all();
        let _ = tokio::time::timeout(GRACE_PERIOD, self.0.runs().idle()).await;
    }
}

/// Returns the handler for a server with a listener of its own.
#[cfg(feature = "serve")]
pub(super) fn mounted(
    arguments: Arc<Arguments>,
    environment: Environment,
    directories: Directories,
    has_profile: bool,
) -> (HttpHandler, Mounted) {
    let plan = Plan::mounted(arguments, environment, directories, has_profile);
    let service = Arc::new(PiService::new(plan));
    (Server::new(Arc::clone(&service) as Arc<_>).http_handler(), Mounted(service))
}

async fn serve(mut plan: Plan) -> ExitCode {
    let http = plan.http.take();
    let service = Arc::new(PiService::new(plan));
    let server = Server::new(Arc::clone(&service) as Arc<_>);
    let serving = async {
        match http {
            None => {
                server.serve_pipes(tokio::io::stdin(), tokio::io::stdout()).await;
                Exit::Completed.into()
            }
            Some(http) => serve_http(&server, http).await,
        }
    };
    let exit = tokio::select! {
        // First, so that a signal counts before anyone knows that the server is there.
        biased;
        exit = signal() => exit.into(),
        exit = serving => exit,
    };
    service.runs().abort_all();
    // Runs save their state; one that takes too long is given up.
    let _ = tokio::time::timeout(GRACE_PERIOD, service.runs().idle()).await;
    exit
}

async fn serve_http(server: &Server, http: Http) -> ExitCode {
    let listener = match TcpListener::bind(&http.address).await {
        Ok(listener) => listener,
        Err(error) => {
            let message = format!("cannot serve at {}: {error}", http.address);
            return fail(&message, Exit::Failed);
        }
    };
    let address = match listener.local_addr() {
        Ok(address) => address,
        Err(error) => return fail(&error.to_string(), Exit::Failed),
    };
    if let Err(error) = http.options.check(address) {
        return fail(&error.to_string(), Exit::Failed);
    }
    note(&format!("serving MCP at http://{address}/mcp"));
    if http.options.token.is_none() {
        note("warning: every program of this machine can use the server; set --token-file");
    }
    if let Some(warning) = &http.warning {
        note(&format!("warning: {warning}"));
    }
    match server.serve_http(listener, http.options).await {
        Ok(()) => Exit::Completed.into(),
        Err(error) => fail(&error.to_string(), Exit::Failed),
    }
}
