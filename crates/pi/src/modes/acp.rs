//! `pi acp`: an editor controls agents over stdin and stdout.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pi_acp::{Ended, Options, serve};
use pi_coding_agent::Environment;
use pi_coding_agent::extension::RunMode;
use pi_host::Host;

use super::hosting;
use super::signals::signal;
use crate::arguments::Arguments;
use crate::exit::{Exit, fail};
use crate::flags::acp::arguments;
use crate::flags::parse::CommandArgs;

/// Pause between two looks at what other programs ask for.
const TEND: Duration = Duration::from_secs(1);

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
    let options = options(args, &arguments);
    let host = host(arguments, environment);
    super::block_on(async {
        let mut received = None;
        let stop = async { received = Some(signal().await) };
        let tended = host.clone();
        let serving = serve(host, options, tokio::io::stdin(), tokio::io::stdout(), stop);
        let ended = tokio::select! {
            ended = serving => ended,
            never = tend(&tended) => match never {},
        };
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

/// Gives sessions up that other programs ask for. Never ends.
async fn tend(host: &Host) -> std::convert::Infallible {
    loop {
        tokio::time::sleep(TEND).await;
        host.tend().await;
    }
}

fn options(args: &CommandArgs, arguments: &Arguments) -> Options {
    Options {
        client_files: !args.has("no-client-files"),
        client_terminal: args.has("client-terminal"),
        ..over_network(arguments)
    }
}

/// Returns the options for clients whose files and terminals may be those of another machine.
pub(super) fn over_network(arguments: &Arguments) -> Options {
    let guard = arguments.settings.get("guard");
    Options {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        least_profile: guard.and_then(|guard| guard["profile"].as_str()).map(str::to_owned),
        client_files: false,
        client_terminal: false,
        sign_in_arguments: vec!["--login".to_owned()],
        sign_in_hint: "run `pi auth login` in a terminal, or set a key such as ANTHROPIC_API_KEY \
                       for the editor"
            .to_owned(),
    }
}

fn host(mut arguments: Arguments, environment: Environment) -> Host {
    // Sessions have working directories of their own, to which the option does not refer.
    if let Some(directory) = arguments.session_dir.take().filter(|given| !given.is_empty()) {
        let directory = environment.expand(&directory, &environment.cwd);
        arguments.session_dir = Some(directory.to_string_lossy().into_owned());
    }
    Host::new(hosting::host(Arc::new(arguments), environment, RunMode::Rpc))
}
