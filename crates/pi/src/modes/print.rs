//! Print mode: submits the prompts, prints the last answer, and reports the result as exit code.

use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;

use pi_agent::{AgentMessage, Outcome};
use pi_ai::{AssistantBlock, AssistantMessage, StopReason};
use pi_coding_agent::Environment;
use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::{AgentSession, Disposition, PromptError, PromptOptions};

use super::input::{Prompt, prompts};
use super::progress::{self, StderrUi};
use super::setup::create;
use super::signals::until_signal;
use crate::arguments::Arguments;
use crate::commands::plain::PlainWriter;
use crate::exit::{Exit, fail, fail_with_hint, on_write_error};
use crate::hints::Hint as _;

/// Submits the prompts and prints the last answer.
pub(super) async fn run(arguments: &Arguments, environment: Environment) -> ExitCode {
    let created = match create(arguments, environment, Arc::new(StderrUi), RunMode::Print).await {
        Ok(created) => created,
        Err(exit) => return exit,
    };
    let session = created.runtime.session();
    let prompts = match prompts(arguments, session.workspace()).await {
        Ok(prompts) if prompts.is_empty() => {
            return fail_with_hint(
                "no prompt given",
                Some("pass a message or pipe one in"),
                Exit::Usage,
            );
        }
        Ok(prompts) => prompts,
        Err(error) => return fail(&error, Exit::Failed),
    };
    progress::show(&created.runtime);
    progress::show_extension_errors(&created.runtime);
    until_signal(&created.runtime, answer(&session, prompts)).await
}

/// Submits the prompts in order and prints the last answer.
pub(super) async fn answer(session: &AgentSession, prompts: Vec<Prompt>) -> ExitCode {
    let mut last = Outcome::Completed;
    for prompt in prompts {
        match submit(session, prompt).await {
            Ok(outcome) => last = outcome,
            Err(exit) => return exit,
        }
    }
    show(session, &last)
}

/// Submits one prompt and waits until the session has settled.
pub(super) async fn submit(session: &AgentSession, prompt: Prompt) -> Result<Outcome, ExitCode> {
    let options = PromptOptions::default().images(prompt.images);
    let submitted = session.submit(&prompt.text, options).await.map_err(|error| refused(&error))?;
    let Disposition::Started(run) = submitted else { return Ok(Outcome::Completed) };
    match Box::pin(run.finish()).await {
        Outcome::Limit { limit } => {
            Err(fail(&format!("the run ended at a limit: {limit:?}"), Exit::Limit))
        }
        Outcome::Repetition { .. } => {
            Err(fail("the run ended because the model repeated itself", Exit::Limit))
        }
        // A failure does not keep the next prompt from being submitted.
        outcome => Ok(outcome),
    }
}

fn refused(error: &PromptError) -> ExitCode {
    let exit = match error {
        PromptError::NoModel | PromptError::NoKey(_) => Exit::NoModel,
        _ => Exit::Failed,
    };
    fail_with_hint(&error.to_string(), error.hint().as_deref(), exit)
}

/// Prints the last answer, or reports why there is none.
fn show(session: &AgentSession, outcome: &Outcome) -> ExitCode {
    let messages = session.messages();
    match outcome {
        Outcome::Failed { error } => {
            // If the answer could not be saved, it precedes the message with the error.
            let mut newest = messages.iter().rev().map(AgentMessage::as_assistant);
            if let (Some(Some(failed)), Some(Some(unsaved))) = (newest.next(), newest.next())
                && failed.stop_reason == StopReason::Error
                && is_complete(unsaved)
            {
                let _ = write(unsaved);
            }
            let error = if error.is_empty() { "Request error" } else { error };
            return fail(error, Exit::Failed);
        }
        Outcome::Aborted => return fail("Request was aborted", Exit::Interrupted),
        _ => {}
    }
    let last = messages.last().and_then(|message| message.as_assistant().cloned());
    let Some(answer) = last.filter(|answer| texts(answer).any(|text| !text.trim().is_empty()))
    else {
        return fail("the model gave no answer", Exit::Failed);
    };
    if let Err(error) = write(&answer) {
        return on_write_error(&error);
    }
    if answer.stop_reason == StopReason::Length {
        return fail("the answer was cut off at the model's output limit", Exit::Truncated);
    }
    Exit::Success.into()
}

fn texts(answer: &AssistantMessage) -> impl Iterator<Item = &str> {
    answer.content.iter().filter_map(AssistantBlock::as_text)
}

/// Writes the text of an answer. Control characters are removed if stdout is a terminal.
fn write(answer: &AssistantMessage) -> std::io::Result<()> {
    let stdout = std::io::stdout().lock();
    let mut out: Box<dyn Write> =
        if stdout.is_terminal() { Box::new(PlainWriter::new(stdout)) } else { Box::new(stdout) };
    for text in texts(answer) {
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn is_complete(answer: &AssistantMessage) -> bool {
    matches!(answer.stop_reason, StopReason::Stop | StopReason::Length)
}
