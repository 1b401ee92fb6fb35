//! Print mode: prompts in, the last answer out, and an exit code that says whether it is one.

use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;

use pi_agent::{AgentMessage, Outcome};
use pi_ai::{AssistantBlock, AssistantMessage, StopReason};
use pi_coding_agent::Environment;
use pi_coding_agent::session::{AgentSession, PromptError, PromptOptions, Submitted};

use super::input::{Prompt, prompts};
use super::progress::{self, StderrUi};
use super::setup::create;
use super::signals::until_signal;
use crate::arguments::Arguments;
use crate::commands::plain::Plain;
use crate::exit::{Exit, complain, on_write_error};

/// Runs the prompts and prints the last answer.
pub(super) async fn run(arguments: &Arguments, environment: Environment) -> ExitCode {
    let created = match create(arguments, environment, Arc::new(StderrUi)).await {
        Ok(created) => created,
        Err(exit) => return exit,
    };
    let session = created.runtime.session();
    let prompts = match prompts(arguments, session.workspace()).await {
        Ok(prompts) if prompts.is_empty() => {
            return complain("there is nothing to say; give a message or pipe one in", Exit::Usage);
        }
        Ok(prompts) => prompts,
        Err(error) => return complain(&error, Exit::Failed),
    };
    progress::show(&session);
    until_signal(&created.runtime, answer(&session, prompts)).await
}

/// Says everything, and prints the last answer.
pub(super) async fn answer(session: &AgentSession, prompts: Vec<Prompt>) -> ExitCode {
    for prompt in prompts {
        if let Err(exit) = say(session, prompt).await {
            return exit;
        }
    }
    show(session)
}

/// Says one thing and waits until it is done.
pub(super) async fn say(session: &AgentSession, prompt: Prompt) -> Result<(), ExitCode> {
    let options = PromptOptions { images: prompt.images, ..PromptOptions::default() };
    let submitted = session.submit(&prompt.text, options).await.map_err(|error| refused(&error))?;
    let Submitted::Started(run) = submitted else { return Ok(()) };
    match Box::pin(run.finish()).await {
        Outcome::Limit { limit } => {
            Err(complain(&format!("the run ended at a limit: {limit:?}"), Exit::Limit))
        }
        Outcome::Repetition { .. } => {
            Err(complain("the run was ended because it went in circles", Exit::Limit))
        }
        // What the last answer says is looked at in the end.
        _ => Ok(()),
    }
}

fn refused(error: &PromptError) -> ExitCode {
    let exit = match error {
        PromptError::NoModel | PromptError::NoKey(_) => Exit::NoModel,
        _ => Exit::Failed,
    };
    complain(&error.to_string(), exit)
}

/// Prints the last answer, as far as there is one.
fn show(session: &AgentSession) -> ExitCode {
    let messages = session.messages();
    let last = messages.last().and_then(|message| message.as_assistant().cloned());
    let Some(answer) = last else {
        return complain("the model gave no answer", Exit::Failed);
    };
    let error = answer.error_message.as_deref();
    match &answer.stop_reason {
        StopReason::Error => {
            // One that could not be written down was given all the same.
            let before = messages.iter().rev().nth(1).and_then(AgentMessage::as_assistant);
            if let Some(unkept) = before.filter(|answer| is_whole(answer)) {
                let _ = write(unkept);
            }
            return complain(error.unwrap_or("Request error"), Exit::Failed);
        }
        StopReason::Aborted => {
            return complain(error.unwrap_or("Request aborted"), Exit::Interrupted);
        }
        _ => {}
    }
    if texts(&answer).all(|text| text.trim().is_empty()) {
        return complain("the model gave no answer", Exit::Failed);
    }
    if let Err(error) = write(&answer) {
        return on_write_error(&error);
    }
    if answer.stop_reason == StopReason::Length {
        return complain("the answer was cut at the model's output limit", Exit::Truncated);
    }
    Exit::Success.into()
}

fn texts(answer: &AssistantMessage) -> impl Iterator<Item = &str> {
    answer.content.iter().filter_map(AssistantBlock::as_text)
}

/// As it is for other programs, without control characters on a terminal.
fn write(answer: &AssistantMessage) -> std::io::Result<()> {
    let stdout = std::io::stdout().lock();
    let mut out: Box<dyn Write> =
        if stdout.is_terminal() { Box::new(Plain::new(stdout)) } else { Box::new(stdout) };
    for text in texts(answer) {
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn is_whole(answer: &AssistantMessage) -> bool {
    matches!(answer.stop_reason, StopReason::Stop | StopReason::Length)
}
