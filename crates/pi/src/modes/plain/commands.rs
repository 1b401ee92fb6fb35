//! The commands of the plain loop.

use std::sync::Arc;

use pi_ai::ThinkingLevel;
use pi_coding_agent::AgentRuntime;
use pi_coding_agent::session::{BashOptions, Persistence};
#[cfg(feature = "screen")]
use pi_screen::needs_screen;

use super::questions::choose;
use super::{Lines, say};

/// Consequence of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// The line was a command, which is done.
    Done,
    /// The line is a message.
    Submit,
    Leave,
}

const HELP: &str = "\
/help              lists the commands
/model [NAME]      selects the model
/thinking [LEVEL]  selects how much the model thinks
/name [NAME]       names the session
/new               starts a new session
/compact [TEXT]    summarizes the history to free context
/session           shows the id of the session
/quit              leaves
!COMMAND           runs a shell command; with !! the model does not see it
Any other line is sent to the model. Ctrl+C stops a run.";

/// Without the screen, the commands that need it are unknown.
#[cfg(not(feature = "screen"))]
fn needs_screen(_: &str) -> bool {
    false
}

/// Runs a line that is a command.
pub(super) async fn run(runtime: &AgentRuntime, lines: &Lines, line: &str) -> Then {
    if let Some(command) = line.strip_prefix('!') {
        shell(runtime, command).await;
        return Then::Done;
    }
    let Some(rest) = line.strip_prefix('/') else { return Then::Submit };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    match name {
        "quit" | "exit" => return Then::Leave,
        "help" | "hotkeys" => say(HELP),
        "model" => model(runtime, lines, argument).await,
        "thinking" => thinking(runtime, lines, argument).await,
        "name" => self::name(runtime, argument).await,
        "new" => match runtime.new_session(None).await {
            Ok(replaced) if replaced.cancelled => say("An extension kept the session."),
            Ok(_) => say("New session started."),
            Err(error) => say(&format!("Error: {error}")),
        },
        "compact" => {
            let instructions = Some(argument).filter(|text| !text.is_empty());
            match runtime.session().compact(instructions).await {
                Ok(_) => say("The history is summarized."),
                Err(error) => say(&format!("Error: {error}")),
            }
        }
        "session" => say(&format!("Session {}", runtime.session().id())),
        _ if needs_screen(name) => {
            say(&format!("/{name} needs the screen; start pi without --accessible to use it."));
        }
        // Commands of extensions, templates and skills.
        _ => return Then::Submit,
    }
    Then::Done
}

async fn model(runtime: &AgentRuntime, lines: &Lines, name: &str) {
    let session = runtime.session();
    let models = session.available_models();
    let names: Vec<String> =
        models.iter().map(|model| format!("{}/{}", model.provider, model.id)).collect();
    let wanted = |at: &usize| {
        let id = models.get(*at).is_some_and(|model| model.id == name);
        id || names.get(*at).is_some_and(|full| full == name)
    };
    let at = match name.is_empty() {
        true => choose(lines, &names).await,
        false => (0..models.len()).find(wanted),
    };
    match at.and_then(|at| models.get(at)) {
        Some(model) => match session.set_model(Arc::clone(model), Persistence::Session).await {
            Ok(_) => say(&format!("The model is {}.", model.name)),
            Err(error) => say(&format!("Error: {error}")),
        },
        None if name.is_empty() => {}
        None => say(&format!("There is no model {name}. /model lists the models.")),
    }
}

async fn thinking(runtime: &AgentRuntime, lines: &Lines, name: &str) {
    let session = runtime.session();
    let levels: Vec<ThinkingLevel> = session.thinking_levels();
    let names: Vec<String> = levels.iter().map(|level| level.as_str().to_owned()).collect();
    let at = match name.is_empty() {
        true => choose(lines, &names).await,
        false => names.iter().position(|level| level == name),
    };
    match at.and_then(|at| levels.get(at)) {
        Some(level) => match session.set_thinking_level(*level, Persistence::Session).await {
            Ok(_) => say(&format!("The thinking level is {}.", level.as_str())),
            Err(error) => say(&format!("Error: {error}")),
        },
        None if name.is_empty() => {}
        None => say(&format!("Levels of this model: {}", names.join(", "))),
    }
}

async fn name(runtime: &AgentRuntime, name: &str) {
    let session = runtime.session();
    if name.is_empty() {
        let name = session.name();
        return say(&name.unwrap_or_else(|| "The session has no name.".to_owned()));
    }
    match session.set_name(name).await {
        Ok(()) => say(&format!("The session is named {name}.")),
        Err(error) => say(&format!("Error: {error}")),
    }
}

/// Runs a shell command of the user and prints its output.
async fn shell(runtime: &AgentRuntime, command: &str) {
    let (command, excluded) = match command.strip_prefix('!') {
        Some(command) => (command, true),
        None => (command, false),
    };
    let options = BashOptions::default().exclude_from_context(excluded);
    match runtime.session().execute_bash(command.trim(), options).await {
        Ok(result) => {
            say(result.output.trim_end());
            match result.exit_code {
                Some(0) => {}
                Some(code) => say(&format!("The command ended with exit code {code}.")),
                None => say("The command was stopped."),
            }
        }
        Err(error) => say(&format!("Error: {error}")),
    }
}
