//! Print mode: submits the prompts, prints the last answer, and reports the result as exit code.

mod structured;

use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;

use pi_agent::{AgentMessage, Limit, Outcome};
use pi_ai::{AssistantBlock, AssistantMessage, StopReason};
use pi_coding_agent::AgentOptions;
use pi_coding_agent::extension::RunMode;
use pi_coding_agent::session::{AgentSession, EndedTurn, PromptOptions, Turn};
use pi_host::provider_errors::{Explanation, explain_last};

use super::input::{Prompt, prompts};
use super::progress::{self, Detail, StderrUi};
use super::setup::create;
use super::signals::until_signal;
use super::streamed::StreamedAnswer;
use crate::arguments::Arguments;
use crate::exit::{Exit, Failure, note, on_write_error};
use crate::flags::suggest;
use crate::hints::Hint as _;
use crate::plain::PlainWriter;

/// Submits the prompts and prints the last answer.
pub(super) async fn run(arguments: &Arguments, options: AgentOptions) -> Result<ExitCode, Failure> {
    if arguments.output.is_structured() {
        return Ok(structured::run(arguments, options).await);
    }
    let created = create(arguments, options, Arc::new(StderrUi), RunMode::Print).await?;
    let session = created.runtime.session();
    let prompts = prompts(arguments, &session).await?;
    if prompts.is_empty() {
        return Err(no_prompt());
    }
    let streamed = StreamedAnswer::new().map(Arc::new);
    progress::show(&created.runtime, Detail::of_run(arguments.verbose), streamed.is_some());
    if let Some(streamed) = &streamed {
        created.runtime.add_listener(Arc::clone(streamed) as Arc<_>).forever();
    }
    let answered = Box::pin(answer(session, prompts, streamed.as_deref()));
    Ok(until_signal(&created.runtime, answered).await)
}

/// Reports that there is nothing to submit.
pub(super) fn no_prompt() -> Failure {
    let hint = "pass a message or pipe one in".to_owned();
    Failure::new("no prompt given", Exit::Usage).with_hint(hint)
}

/// Runs the prompts in order and prints the last answer, unless it was written as it grew.
pub(super) async fn answer(
    mut session: AgentSession,
    prompts: Vec<Prompt>,
    streamed: Option<&StreamedAnswer>,
) -> ExitCode {
    let mut last = None;
    for prompt in prompts {
        let end = turn(&session, prompt).run().await;
        if ends_early(&end) {
            return report(&end);
        }
        session = end.replaced.clone().unwrap_or(session);
        // A command of an extension needs no answer of the model.
        if end.is_asked {
            last = Some(end);
        }
    }
    last.map_or_else(|| Exit::Completed.into(), |end| show(&end, streamed))
}

/// Returns the turn of a prompt of the command line.
pub(super) fn turn(session: &AgentSession, prompt: Prompt) -> Turn<'static> {
    if let Some(warning) = unknown_slash_command(session, &prompt.text) {
        note(&warning);
    }
    session.turn(prompt.text, PromptOptions::default().images(prompt.images))
}

/// Returns true if the prompts that follow are not submitted. A failure of the model does not keep
/// them from it.
pub(super) fn ends_early(end: &EndedTurn) -> bool {
    end.run.is_err() || matches!(end.outcome, Exit::Limit | Exit::Guardrail)
}

/// Reports the failure of a turn, if it failed.
pub(super) fn report(end: &EndedTurn) -> ExitCode {
    failure_of(end).map_or_else(|| Exit::Completed.into(), |failure| failure.report())
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

/// Prints the last answer, or reports why there is none.
fn show(end: &EndedTurn, streamed: Option<&StreamedAnswer>) -> ExitCode {
    let is_written = match streamed.map(StreamedAnswer::finish) {
        Some(Ok(is_written)) => is_written,
        Some(Err(error)) => return on_write_error(&error),
        None => false,
    };
    if matches!(end.outcome, Exit::Completed | Exit::Truncated)
        && !is_written
        && let Some(answer) = &end.answer
        && let Err(error) = write(answer)
    {
        return on_write_error(&error);
    }
    if matches!(end.run, Ok(Outcome::Failed { .. })) && streamed.is_none() {
        write_unsaved(&end.session);
    }
    report(end)
}

/// Returns the failure of a turn; `None` if there is an answer or a result.
pub(super) fn failure_of(end: &EndedTurn) -> Option<Failure> {
    let Some(reason) = end.reason() else {
        let is_missing = !end.is_asked && end.result.is_none();
        return is_missing.then(|| Failure::new("the model gave no answer", Exit::NoAnswer));
    };
    let failure = Failure::new(reason, end.outcome);
    Some(match &end.run {
        _ if end.outcome == Exit::Aborted => Failure::new("Request was aborted", end.outcome),
        Err(error) => failure.with_hint(error.hint()),
        Ok(Outcome::Limit { limit }) => {
            let option = option_of(*limit);
            failure.with_hint(format!("raise it with {option}, or continue with `pi -c`"))
        }
        Ok(Outcome::Failed { error }) => match explain_last(&end.session) {
            Some(Explanation { message, hint }) => {
                Failure::new(message, end.outcome).with_hint(hint)
            }
            None if error.is_empty() => Failure { message: "Request error".to_owned(), ..failure },
            None => failure,
        },
        Ok(_) => failure,
    })
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
