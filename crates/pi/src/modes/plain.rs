//! The plain prompt loop, for screen readers and for terminals that cannot move a cursor.
//!
//! Lines are written once and in order: nothing is drawn again, nothing moves. The terminal edits
//! the input, line by line. Choices are numbered.

mod commands;
mod questions;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use pi_agent::Outcome;
use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{AgentOptions, AgentRuntime, Project};
use pi_host::provider_errors::explain_last;
use pi_protocol::CancelToken;

use super::input::{Prompt, prompts};
use super::progress::{self, Detail};
use super::setup;
use super::signals::end_sandbox;
use super::streamed::StreamedAnswer;
use crate::arguments::Arguments;
use crate::exit::{Exit, Failure};
use crate::hints::Hint as _;
use crate::input_lines::Lines;
use crate::plain::PlainWriter;
use questions::PlainUi;

/// Returns why the plain loop is used instead of the screen, if it is.
pub(super) fn reason(arguments: &Arguments, project: &Project) -> Option<&'static str> {
    let environment = project.environment();
    let is_on = |name: &str| environment.variable(name).is_some_and(|value| value == "1");
    if arguments.screen.accessible || is_on("ACCESSIBLE") {
        return Some("Plain output, as requested.");
    }
    match environment.variable("TERM") {
        None | Some("" | "dumb") => {
            return Some("This terminal cannot move its cursor (TERM), so the output is plain.");
        }
        Some(_) => {}
    }
    project.settings().screen.accessible.then_some("Plain output, as the settings say.")
}

/// Runs the loop until the user leaves.
pub(super) async fn run(
    arguments: &Arguments,
    options: AgentOptions,
    reason: &str,
) -> Result<ExitCode, Failure> {
    let lines = Lines::start().map_err(|error| format!("cannot read the terminal: {error}"))?;
    let ui = Arc::new(PlainUi::new(lines.clone()));
    let runtime = setup::create(arguments, options, ui, RunMode::Tui).await?.runtime;
    let detail = if arguments.verbose { Detail::Requests } else { Detail::Tools };
    progress::show_lines(&runtime, detail);
    if let Some(streamed) = StreamedAnswer::new() {
        runtime.add_listener(Arc::new(streamed)).forever();
    }
    say(reason);
    say("Type a message and press enter. /help lists the commands; /quit leaves.");
    for prompt in prompts(arguments, &runtime.session()).await? {
        submit(&runtime, prompt).await;
    }
    while let Some(line) = next(&lines).await {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        match commands::run(&runtime, &lines, line).await {
            commands::Then::Leave => break,
            commands::Then::Done => {}
            commands::Then::Submit => {
                let prompt = Prompt { text: line.to_owned(), images: Vec::new() };
                submit(&runtime, prompt).await;
            }
        }
    }
    if runtime.session().file().is_some_and(|file| file.exists()) {
        say(&format!("To resume this session: pi --session {}", runtime.session().id()));
    }
    runtime.shut_down().await;
    end_sandbox(&runtime).await?;
    Ok(Exit::Completed.into())
}

/// Asks for the next message. An interrupt leaves.
async fn next(lines: &Lines) -> Option<String> {
    ask("> ");
    tokio::select! {
        line = lines.next() => line,
        _ = tokio::signal::ctrl_c() => None,
    }
}

/// Runs a message to its end. An interrupt aborts the run.
async fn submit(runtime: &AgentRuntime, prompt: Prompt) {
    let options = PromptOptions::default().images(prompt.images);
    let cancel = CancelToken::new();
    let turn = runtime.session().turn(prompt.text, options).cancel(&cancel);
    let end = tokio::select! {
        end = turn.run() => end,
        () = cancel_on_interrupt(&cancel) => return,
    };
    match &end.run {
        _ if end.outcome == Exit::Aborted => say("Stopped."),
        Err(error) => {
            say(&format!("Error: {error}"));
            error.hint().iter().for_each(|hint| say(hint));
        }
        Ok(Outcome::Failed { error }) => match explain_last(&end.session) {
            Some(explanation) => {
                say(&format!("Error: {}", explanation.message));
                explanation.hint.iter().for_each(|hint| say(hint));
            }
            None => say(&format!("Error: {error}")),
        },
        Ok(Outcome::Limit { limit }) => say(&format!("The run ended at a limit: {limit}")),
        Ok(Outcome::Stopped { by, reason }) => {
            say(&format!("The run was stopped by {by}: {reason}"));
        }
        Ok(_) => {}
    }
    if end.is_asked {
        bell();
    }
}

/// Cancels the turn at an interrupt; never returns.
async fn cancel_on_interrupt(cancel: &CancelToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        cancel.cancel();
    }
    std::future::pending::<()>().await;
}

/// Writes a text as lines. Control characters are removed.
fn say(text: &str) {
    let mut out = PlainWriter::new(std::io::stdout());
    // A terminal that is gone ends the input, too.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Writes a text and stays on its line.
fn ask(text: &str) {
    let mut out = PlainWriter::new(std::io::stdout());
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// Tells that the turn of the user begins.
fn bell() {
    let mut out = std::io::stdout();
    if out.is_terminal() {
        let _ = out.write_all(b"\x07").and_then(|()| out.flush());
    }
}
