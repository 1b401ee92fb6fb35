//! The interactive mode: `pi-screen` with the command line of this program.

use std::process::ExitCode;

use pi_coding_agent::extension::RunMode;
use pi_coding_agent::{AgentOptions, Environment};
use pi_config::{SettingsScope, SettingsStore};
use pi_screen::{Agent, FirstPrompt, Program, ScreenOptions, StartError};

use super::{input, setup};
use crate::arguments::Arguments;
use crate::exit::{Exit, fail, print};
use crate::hints::{self, Hint as _};
use crate::{crash, secrets, terminal_owner, topics};

const PROGRAM: Program = Program {
    screen_opened: terminal_owner::open_screen,
    terminal_lent: terminal_owner::set_lent,
    screen_closed: terminal_owner::close_screen,
    restore_after_crash: crash::restore_after_crash,
    print: |text| {
        print(text);
    },
    secrets: secrets::own,
    prompt_hint: hints::on_screen,
    help_topic: |name| Some(topics::find(name)?.page),
    help_topics: || topics::TOPICS.iter().map(|topic| topic.name).collect(),
    package_hint: |error| error.hint(),
};

/// Runs the interactive mode.
pub(super) async fn run(arguments: &Arguments, agent: AgentOptions) -> ExitCode {
    let screen = &arguments.screen;
    let options = ScreenOptions {
        mode: screen.mode.clone(),
        theme: screen.theme.clone(),
        themes: screen.themes.paths.clone(),
        no_theme_discovery: screen.themes.no_discovery,
        session_directory: arguments.session_dir.clone(),
        resume: arguments.resume,
        is_verbose: arguments.verbose,
    };
    let create = async |options, ui| {
        let created = setup::create_silently(arguments, options, ui, RunMode::Tui).await?;
        Ok(Agent { runtime: created.runtime, notices: created.notices })
    };
    let prompts = async |session: &_| {
        let is_empty = arguments.messages.is_empty() && arguments.files.is_empty();
        if is_empty && arguments.unknown.is_empty() {
            return Ok(Vec::new());
        }
        let prompts = input::prompts(arguments, session).await?;
        let prompts = prompts.into_iter();
        Ok(prompts.map(|prompt| FirstPrompt { text: prompt.text, images: prompt.images }).collect())
    };
    report(pi_screen::run(PROGRAM, options, agent, create, prompts).await, setup::Refused::report)
}

/// Shows the selector of resources, without a session.
pub(crate) async fn select_resources(
    environment: Environment,
    settings: SettingsStore,
    scope: SettingsScope,
) -> ExitCode {
    let end = pi_screen::select_resources(PROGRAM, environment, settings, scope).await;
    report(end, |never| match never {})
}

fn report<E>(end: Result<Exit, StartError<E>>, refused: impl FnOnce(E) -> ExitCode) -> ExitCode {
    match end {
        Ok(exit) => exit.into(),
        Err(StartError::Signals(error)) => {
            fail(&format!("cannot receive signals: {error}"), Exit::Failed)
        }
        Err(StartError::Terminal(error)) => {
            fail(&format!("cannot use the terminal: {error}"), Exit::Failed)
        }
        Err(StartError::Agent(error)) => refused(error),
        Err(_) => fail("the screen cannot be started", Exit::Failed),
    }
}
