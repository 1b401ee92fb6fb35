//! `pi serve`: sessions in browsers and for other programs. The server itself is `pi-serve`.
//!
//! `plan` is the command line, `invite` what the user sees of a running server, `service` the
//! registration with the system, `tokens` the commands for tokens and links.

mod invite;
mod plan;
mod service;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pi_coding_agent::extension::RunMode;
use pi_host::Host;
use pi_host::ui_hub::Absence;
use pi_protocol::CancelToken;
use pi_serve::announce::announce;
use pi_serve::entrance::Right;
use pi_serve::entrance::tokens::NewToken;
use pi_serve::{ServeError, Server};
use secrecy::SecretString;
use tokio::net::TcpListener;

use super::hosting;
use super::signals::signal;
use crate::exit::{Exit, Failure, note};
use crate::flags::parse::CommandArgs;
use plan::Plan;

/// Most sessions that are open at a time.
const SESSIONS: usize = 64;

/// The time after which a session that no client uses is closed.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The time that sessions have to end.
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Starts the server, or does what an option asks for in its place.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let result = match () {
        () if args.has("uninstall") => service::uninstall(),
        () if args.has("install") => service::install(args),
        () => start(args),
    };
    result.unwrap_or_else(|failure| failure.report())
}

fn start(args: &CommandArgs) -> Result<ExitCode, Failure> {
    for option in ["view", "for"] {
        if args.has(option) {
            let message = format!("--{option} requires --share");
            return Err(Failure::new(message, Exit::Usage));
        }
    }
    let environment =
        crate::environment::read().map_err(|error| Failure::new(error, Exit::Configuration))?;
    let plan = Plan::new(args, environment).map_err(|error| Failure::new(error, Exit::Usage))?;
    Ok(super::block_on(async { serve(plan).await.unwrap_or_else(|failure| failure.report()) }))
}

async fn serve(plan: Plan) -> Result<ExitCode, Failure> {
    let Plan { arguments, environment, address, mut options, tls, token, opens, .. } = plan;
    let (prints_qr, has_profile) = (plan.prints_qr, plan.has_profile);
    let arguments = Arc::new(arguments);
    let mcp = {
        let (arguments, directories) = (Arc::clone(&arguments), options.directories.clone());
        let environment = environment.clone();
        let (handler, mcp) =
            super::mcp_serve::mounted(arguments, environment, directories, has_profile);
        options.mcp = Some(handler);
        mcp
    };
    let mut host = hosting::host(arguments, environment.clone(), RunMode::Rpc);
    (host.most, host.idle, host.absence) = (SESSIONS, Some(IDLE), Absence::Wait);
    let host = Host::new(host);
    let server = Server::new(host.clone(), options).map_err(|error| failed(&error))?;
    let cannot = |error: std::io::Error| {
        Failure::from(format!("cannot serve at {address}: {error}")).with_hint(
            (error.kind() == std::io::ErrorKind::AddrInUse)
                .then(|| "another program uses the port; choose one with --port".to_owned()),
        )
    };
    let listener = TcpListener::bind(&address).await.map_err(cannot)?;
    let local = listener.local_addr().map_err(cannot)?;
    server.check(local).map_err(|error| {
        Failure::new(error.to_string(), Exit::Usage).with_hint(server.advice(local))
    })?;
    server.set_address(local);
    // Two servers of a user have tokens of their own.
    let is_random = address.ends_with(":0");
    let owner = match local.port() {
        plan::PORT => "owner".to_owned(),
        port => format!("owner-{port}"),
    };
    let tokens = &server.state().tokens;
    let own = NewToken::new(owner.clone(), Right::Admin);
    let token = match token {
        Some(token) => tokens
            .set(own, &SecretString::from(token))
            .map(|()| None)
            .map_err(|error| tokens_failed(&error))?,
        None => Some(tokens.renew(own).map_err(|error| tokens_failed(&error))?),
    };
    let announced = announce(server.state(), local.port());
    if let Err(error) = &announced {
        note(&format!("warning: other programs do not find this server: {error}"));
    }
    if !local.ip().is_loopback() && tls.is_none() {
        note("warning: connections are not encrypted; everyone in the network can read them");
    }
    let page = invite::show(&server, token.as_ref(), prints_qr);
    let _opened = opens.then(|| invite::open(&server, token.as_ref(), &environment)).flatten();
    let stop = CancelToken::new();
    let serving = server.serve(listener, tls, stop.clone());
    tokio::pin!(serving);
    let exit: Result<ExitCode, Failure> = tokio::select! {
        biased;
        exit = signal() => Ok(exit.into()),
        served = &mut serving => served.map(|()| Exit::Completed.into()).map_err(|error| failed(&error)),
        broken = invite::report(&server) => broken,
    };
    stop.cancel();
    let ending = async {
        for session in host.open_sessions() {
            host.close_session(&session).await;
        }
    };
    mcp.end().await;
    // Runs save their state; one that takes too long is continued by the next server.
    let _ = tokio::time::timeout(GRACE_PERIOD, async { tokio::join!(ending, serving) }).await;
    if is_random && page {
        // No client finds the server of this port again.
        let _ = tokens.revoke(&owner);
    }
    drop(announced);
    exit
}

fn failed(error: &ServeError) -> Failure {
    Failure::from(error.to_string())
}

fn tokens_failed(error: &pi_serve::entrance::tokens::TokensError) -> Failure {
    Failure::from(error.to_string())
}
