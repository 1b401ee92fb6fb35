//! RPC mode: another program controls the agent over stdin and stdout.

use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::AgentOptions;
use pi_coding_agent::extension::RunMode;
use pi_rpc::{Ended, LineWriter, RpcUi, serve};
use tokio::io::BufReader;

use super::progress::{self, Detail};
use super::setup::create;
use super::signals::until_signal;
use crate::arguments::Arguments;
use crate::exit::{Exit, Failure, fail};

/// Serves requests until the input ends.
pub(super) async fn run(arguments: &Arguments, options: AgentOptions) -> Result<ExitCode, Failure> {
    let output = LineWriter::default();
    let ui = Arc::new(RpcUi::new(output.clone()));
    let created = create(arguments, options, Arc::clone(&ui) as Arc<_>, RunMode::Rpc).await?;
    // A client that is gone ends the server.
    let _ = created.notices.iter().try_for_each(|notice| output.add(notice));
    let runtime = created.runtime;
    if arguments.verbose {
        progress::show_lines(&runtime, Detail::Requests);
    }
    let served = async {
        let input = BufReader::new(tokio::io::stdin());
        match serve(runtime.clone(), ui, output, input, tokio::io::stdout()).await {
            Ended::Input => Exit::Completed.into(),
            Ended::Output => Exit::BrokenPipe.into(),
            Ended::Failed(error) => fail(&format!("cannot read the input: {error}"), Exit::Failed),
        }
    };
    Ok(until_signal(&runtime, served).await)
}
