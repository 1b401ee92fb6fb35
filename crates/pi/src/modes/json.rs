//! JSON mode: writes the header of the session and then every event, one per line.

use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::AgentOptions;
use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::AgentSession;
use pi_config::settings::Profile;
use pi_protocol::CancelToken;
use pi_rpc::LineWriter;

use super::input::{Prompt, prompts};
use super::print::{ends_early, no_prompt, report, turn};
use super::progress::{self, Detail, StderrUi};
use super::setup::create;
use super::signals::until_signal;
use crate::arguments::Arguments;
use crate::exit::{Exit, Failure, on_write_error};

/// Runs the prompts and writes every event.
pub(super) async fn run(arguments: &Arguments, options: AgentOptions) -> Result<ExitCode, Failure> {
    let created = create(arguments, options, Arc::new(StderrUi), RunMode::Json).await?;
    let session = created.runtime.session();
    let prompts = prompts(arguments, &session).await?;
    if prompts.is_empty() {
        return Err(no_prompt());
    }
    let output = LineWriter::default();
    // No event is written before this line.
    let _ = session.with_log(|log| output.add(log.header()));
    // A reader that is gone ends the mode when the first event is drained.
    let _ = created.notices.iter().try_for_each(|notice| output.add(notice));
    created.runtime.add_listener(Arc::new(output.clone())).forever();
    // Everything else is an event on stdout.
    let detail = if arguments.verbose { Detail::Requests } else { Detail::Failures };
    progress::show(&created.runtime, detail, false);
    let guarded = session.guard().is_some_and(|guard| guard.plan().profile != Profile::Explore);
    let reports_failure = arguments.fail || guarded;
    let written = Box::pin(write(session, prompts, &output, reports_failure));
    Ok(until_signal(&created.runtime, written).await)
}

async fn write(
    mut session: AgentSession,
    prompts: Vec<Prompt>,
    output: &LineWriter,
    reports_failure: bool,
) -> ExitCode {
    let cancel = CancelToken::new();
    let all = async {
        let mut exit = Exit::Completed.into();
        for prompt in prompts {
            let end = turn(&session, prompt).cancel(&cancel).run().await;
            if cancel.is_cancelled() {
                break;
            }
            if ends_early(&end) {
                exit = report(&end);
                break;
            }
            if reports_failure && end.is_asked {
                exit = end.outcome.into();
            }
            session = end.replaced.unwrap_or(session);
        }
        output.finish();
        exit
    };
    tokio::pin!(all);
    let drain = output.drain(tokio::io::stdout());
    tokio::pin!(drain);
    tokio::select! {
        exit = &mut all => match drain.await {
            Ok(()) => exit,
            Err(error) => on_write_error(&error),
        },
        written = &mut drain => {
            // The aborted run must be polled to its end.
            cancel.cancel();
            all.await;
            written.map_or_else(|error| on_write_error(&error), |()| Exit::Completed.into())
        }
    }
}
