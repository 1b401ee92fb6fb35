//! Print mode: submits the prompts, prints the last answer, and reports the result as exit code.

mod structured;

use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;

use pi_agent::{AgentMessage, Limit, Outcome};
use pi_ai::{AssistantBlock, AssistantMessage, StopReason};
use pi_coding_agent::Environment;
use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::{AgentSession, Disposition, PromptError, PromptOptions, Run};
use pi_host::provider_errors::{Explanation, explain_last};

use super::input::{Prompt, prompts};
use super::progress::{self, Detail, StderrUi};
use super::setup::create;
use super::signals::until_signal;
use super::streamed::StreamedAnswer;
use crate::arguments::Arguments;
use crate::exit::{Exit, Failure, fail, note, on_write_error};
use crate::flags::suggest;
use crate::hints::Hint as _;
use crate::plain::PlainWriter;

/// Submits the prompts and prints the last answer.
pub(super) async fn run(arguments: &Arguments, environment: Environment) -> ExitCode {
    if arguments.output.is_structured() {
        return structured::run(arguments, environment).await;
    }
    let created = match create(arguments, environment, Arc::new(StderrUi), RunMode::Print).await {
        Ok(created) => created,
        Err(exit) => return exit,
    };
    let session = created.runtime.session();
    let prompts = match prompts(arguments, &session).await {
        Ok(prompts) if prompts.is_empty() => return no_prompt().report(),
        Ok(prompts) => prompts,
        Err(error) => return fail(&error, Exit::Failed),
    };
    let streamed = StreamedAnswer::new().map(Arc::new);
    progress::show(&created.runtime, Detail::of_run(arguments.verbose), streamed.is_some());
    if let Some(streamed) = &streamed {
        created.runtime.add_listener(Arc::clone(streamed) as Arc<_>).forever();
    }
    until_signal(&created.runtime, Box::pin(answer(&session, prompts, streamed.as_deref()))).await
}

/// Reports that there is nothing to submit.
pub(super) fn no_prompt() -> Failure {
    let hint = "pass a message or pipe one in".to_owned();
    Failure::new("no prompt given", Exit::Usage).with_hint(hint)
}

/// Submits the prompts in order and prints the last answer, unless it was written as it grew.
pub(super) async fn answer(
    session: &AgentSession,
    prompts: Vec<Prompt>,
    streamed: Option<&StreamedAnswer>,
) -> ExitCode {
    let before = session.message_count();
    let mut last = Outcome::Completed;
    let mut is_asked = false;
    for prompt in prompts {
        match submit(session, prompt).await {
            Ok(outcome) => {
                is_asked |= outcome.is_some();
                last = outcome.unwrap_or(last);
            }
            Err(failure) => return failure.report(),
        }
    }
    // A command of an extension needs no answer of the model, but may have asked for one.
    if !is_asked {
        session.wait_for_idle().await;
        if session.message_count() == before || last_answer(session).is_none() {
            return Exit::Completed.into();
        }
    }
    show(session, &last, streamed)
}

/// Submits one prompt and waits until the session has settled. `None` if an extension dealt with it.
pub(super) async fn submit(
    session: &AgentSession,
    prompt: Prompt,
) -> Result<Option<Outcome>, Failure> {
    if let Some(warning) = unknown_slash_command(session, &prompt.text) {
        note(&warning);
    }
    let options = PromptOptions::default().images(prompt.images);
    let submitted = session.submit(&prompt.text, options).await.map_err(|error| refused(&error))?;
    let Disposition::Started(run) = submitted else { return Ok(None) };
    finish(run).await.map(Some)
}

/// Waits until a run has settled.
pub(super) async fn finish(run: Run) -> Result<Outcome, Failure> {
    match Box::pin(run.finish()).await {
        Outcome::Limit { limit } => {
            let hint = format!("raise it with {}, or continue with `pi -c`", option_of(limit));
            let message = format!("the run ended at a limit: {limit}");
            Err(Failure::new(message, Exit::Limit).with_hint(hint))
        }
        Outcome::Repetition { repetition } => {
            let message = format!("the run ended because the model repeated itself: {repetition}");
            Err(Failure::new(message, Exit::Limit))
        }
        Outcome::Stopped { by, reason } => {
            let message = format!("the run was stopped by {by}: {reason}");
            Err(Failure::new(message, Exit::Guardrail))
        }
        // A failure does not keep the next prompt from being submitted.
        outcome => Ok(outcome),
    }
}

/// Returns a warning about a text that looks like a skill or template but is sent as it is.
fn unknown_slash_command(session: &AgentSession, text: &str) -> Option<String> {
    let name = text.strip_prefix('/')?.split_whitespace().next()?;
    let known = session.commands();
    let mut names = known.iter().map(|command| command.name.as_str());
    if names.clone().any(|known| known == name) {
        return None;
    }
    let near = suggest::nearest(name, &mut names);
    let advice = match near {
        Some(near) => format!("; did you mean /{near}?"),
        // Many texts begin with a path.
        None if !name.starts_with("skill:") => return None,
        None => String::new(),
    };
    Some(format!("warning: there is no command /{name}; the text is sent as it is{advice}"))
}

/// Returns the option that sets a limit.
fn option_of(limit: Limit) -> &'static str {
    match limit {
        Limit::Turns => "--max-turns",
        Limit::ToolCalls => "--max-tool-calls",
        Limit::Tokens => "--max-tokens",
        Limit::Cost => "--max-cost",
        Limit::WallTime => "--timeout",
        Limit::OutputBytes => "--max-output",
        Limit::CallsPerTool => "--max-calls",
        _ => "--idle-timeout",
    }
}

/// Returns the failure of a prompt that was not accepted.
pub(super) fn refused(error: &PromptError) -> Failure {
    let exit = match error {
        PromptError::NoModel | PromptError::Unusable(_) => Exit::NoModel,
        PromptError::Blocked { .. } => Exit::Guardrail,
        _ => Exit::Failed,
    };
    Failure::new(error.to_string(), exit).with_hint(error.hint())
}

/// Prints the last answer, or reports why there is none.
fn show(session: &AgentSession, outcome: &Outcome, streamed: Option<&StreamedAnswer>) -> ExitCode {
    let is_written = match streamed.map(StreamedAnswer::finish) {
        Some(Ok(is_written)) => is_written,
        Some(Err(error)) => return on_write_error(&error),
        None => false,
    };
    let failure = failure_of(session, outcome);
    let has_failed = failure.as_ref().is_some_and(|failure| failure.exit != Exit::Truncated);
    if !has_failed
        && !is_written
        && let Some(answer) = last_answer(session)
        && let Err(error) = write(&answer)
    {
        return on_write_error(&error);
    }
    if matches!(outcome, Outcome::Failed { .. }) && streamed.is_none() {
        write_unsaved(session);
    }
    match failure {
        Some(failure) => failure.report(),
        None => Exit::Completed.into(),
    }
}

/// Returns the failure of a run with this outcome; `None` if there is an answer.
pub(super) fn failure_of(session: &AgentSession, outcome: &Outcome) -> Option<Failure> {
    let exit = exit_code(session, outcome);
    let message = match (exit, outcome) {
        (Exit::Completed, _) => return None,
        (Exit::Aborted, _) => "Request was aborted",
        (_, Outcome::Stopped { reason, .. }) => reason,
        (_, Outcome::Failed { error }) => {
            if let Some(Explanation { message, hint, .. }) = explain_last(session) {
                return Some(Failure::new(message, exit).with_hint(hint));
            }
            if error.is_empty() { "Request error" } else { error }
        }
        (Exit::Failed, _) => "the model gave no answer",
        _ => "the answer was cut off at the model's output limit",
    };
    Some(Failure::new(message, exit))
}

/// Returns the exit code that reports the outcome of a run.
pub(super) fn exit_code(session: &AgentSession, outcome: &Outcome) -> Exit {
    match (outcome, last_answer(session)) {
        (Outcome::Failed { .. }, _) => {
            explain_last(session).map_or(Exit::Failed, |explanation| explanation.outcome)
        }
        (Outcome::Aborted, _) => Exit::Aborted,
        (Outcome::Stopped { .. }, _) => Exit::Guardrail,
        (_, None) => Exit::Failed,
        (_, Some(answer)) if answer.stop_reason == StopReason::Length => Exit::Truncated,
        _ => Exit::Completed,
    }
}

/// Returns the last message if it is an answer with text.
fn last_answer(session: &AgentSession) -> Option<Arc<AssistantMessage>> {
    let messages = session.messages();
    let last = messages.last().and_then(|message| message.as_assistant().cloned());
    last.filter(|answer| texts(answer).any(|text| !text.trim().is_empty()))
}

/// Writes an answer that could not be saved: it precedes the message with the error.
fn write_unsaved(session: &AgentSession) {
    let messages = session.messages();
    let mut newest = messages.iter().rev().map(AgentMessage::as_assistant);
    if let (Some(Some(failed)), Some(Some(unsaved))) = (newest.next(), newest.next())
        && failed.stop_reason == StopReason::Error
        && is_complete(unsaved)
    {
        // The failure is reported in any case.
        let _ = write(unsaved);
    }
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
