//! The interactive mode: the session on a screen.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Arguments, the environment of the process and exit codes: the program passes in what the screen
//! needs ([`Program`], [`ScreenOptions`]) and gets an outcome. Nothing here decides what a session
//! does: this crate connects the SDK to `pi-tui`.
//!
//! # Where to start
//!
//! [`run`] opens the terminal, creates the session and runs the event loop. `app` holds the parts
//! together; each part has a file of its own. `transcript` shows the conversation, `dock` what is
//! below it, `panel` what replaces the editor for a while, `commands` the slash commands.

mod activity;
mod answer_parts;
mod app;
mod components;
mod composition;
mod display;
mod document;
mod flash;
mod footer;
mod keyboard;
mod keys;
mod output;
mod panel;
mod panels;
mod preferences;
mod prelude;
mod program;
mod queue;
mod report;
mod signals;
mod tasks;
mod themes;
mod transcript;
mod ui;
mod widgets;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_coding_agent::extension::Ui;
use pi_coding_agent::session::SessionEvent;
use pi_coding_agent::{
    AgentOptions, AgentRuntime, AgentSession, Environment, MergeQueue, OpenPage, SessionSelector,
};
use pi_config::{SettingsScope, SettingsStore, Trust};
use pi_host::browser;
use pi_host::sessions::shared_directory;
use pi_protocol::{ImageContent, Outcome};
use tokio::task::LocalSet;
use tokio::time::timeout;

use app::event_loop::Sources;
use app::{App, Parts};
use panels::resources::ResourcesPanel;
use panels::resume::{Answer, ResumePanel};
use preferences::Preferences;
use prelude::Prelude;
pub use program::{DrawnScreen, Program, ScreenOptions, StartError};
use tasks::Tasks;
use themes::Themes;
use ui::{ScreenUi, UiRequest};

/// Time that an agent has to shut down.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// Returns true for the name of a command that only the screen has.
pub fn needs_screen(command: &str) -> bool {
    app::commands::COMMANDS.iter().any(|known| known.name == command)
}

/// A new agent, and what the user is told about it.
#[derive(Debug)]
pub struct Agent {
    /// The runtime of the agent.
    pub runtime: AgentRuntime,
    /// Problems and omissions.
    pub notices: Vec<SessionEvent>,
}

/// A first prompt with its images.
#[derive(Debug)]
pub struct FirstPrompt {
    /// Text of the prompt.
    pub text: String,
    /// Images of the prompt.
    pub images: Vec<ImageContent>,
}

/// Runs the interactive mode until the user leaves. `create` creates the agent, `prompts` returns
/// what is submitted first.
pub async fn run<E>(
    program: Program,
    screen: ScreenOptions,
    agent: AgentOptions,
    create: impl AsyncFnOnce(AgentOptions, Arc<dyn Ui>) -> Result<Agent, E>,
    prompts: impl AsyncFnOnce(&AgentSession) -> Result<Vec<FirstPrompt>, String>,
) -> Result<Outcome, StartError<E>> {
    let work = Box::pin(start(program, screen, agent, create, prompts));
    LocalSet::new().run_until(work).await
}

async fn start<E>(
    program: Program,
    screen: ScreenOptions,
    mut options: AgentOptions,
    create: impl AsyncFnOnce(AgentOptions, Arc<dyn Ui>) -> Result<Agent, E>,
    prompts: impl AsyncFnOnce(&AgentSession) -> Result<Vec<FirstPrompt>, String>,
) -> Result<Outcome, StartError<E>> {
    let environment = options.environment().clone();
    options.open_page = browser::program(&environment).map(|program| -> OpenPage {
        Arc::new(move |url| {
            // The page is shown in any case.
            let _ = browser::open(&program, url);
        })
    });
    let mut preferences = preferences::read(options.project.settings(), &screen, &environment);
    let mut prelude = Prelude::open(program, &environment, &preferences)?;
    if screen.resume {
        let shared = shared_directory(&options.project, screen.session_directory.as_deref());
        match resumed(&mut prelude, &environment, &preferences, shared).await {
            Ok(path) => options.session.selector = SessionSelector::Existing(path),
            Err(outcome) => {
                prelude.display.close();
                return Ok(outcome);
            }
        }
    }
    let mut told = app::trust::Told::default();
    if options.project.trust() == Trust::Ask {
        match app::trust::ask(&mut prelude, &preferences, &mut options).await {
            Ok(after) => told = after,
            Err(outcome) => {
                prelude.display.close();
                return Ok(outcome);
            }
        }
        // A trusted project has settings, too.
        preferences = preferences::read(options.project.settings(), &screen, &environment);
    }
    let settings = options.project.store().clone();
    let (ui, requests) = ScreenUi::new();
    // Extensions read these when their session starts.
    let keys = keys::load(&environment);
    let sources = themes::sources(&settings, &screen, &environment);
    let depth = prelude.display.capabilities.color_depth;
    let mut themes = Themes::new(&preferences.theme, depth, &environment, &sources);
    prelude.display.show_colors(&mut themes.0);
    app::publish::start(&ui, &keys.0, &themes.0, prelude.display.size());
    let interface: Arc<dyn Ui> = Arc::new(ui.clone());
    let waker = ui.clone();
    pi_tui::highlight::on_ready(move || waker.send(UiRequest::Redraw));
    let agent = match Box::pin(create(options, interface)).await {
        Ok(agent) => agent,
        Err(error) => {
            prelude.display.close();
            return Err(StartError::Agent(error));
        }
    };
    let runtime = agent.runtime.clone();
    if themes.1.is_some() && runtime.session().extensions().registry().has_extensions() {
        // An extension may have offered the theme: it is tried again after what they requested.
        themes.1 = None;
        ui.send(UiRequest::SelectTheme(preferences.theme.clone()));
    }
    let events = MergeQueue::<SessionEvent>::default();
    runtime.add_listener(Arc::new(events.clone())).forever();
    let (tasks, effects) = Tasks::new(|app: &mut App, error| app.error(error));
    let Prelude { display, keyboard, decoder, signals } = prelude;
    let sources = Sources { keyboard, decoder, events, requests, effects, signals };
    let session_directory = screen.session_directory.clone();
    let mut app = app::build(Parts {
        program,
        environment,
        settings,
        options: screen,
        preferences,
        agent,
        ui,
        themes,
        keys,
        tasks,
        display,
    });
    for problem in told.problem.into_iter().chain(told.consequence) {
        app.warning(problem);
    }
    app::first_run::show(&mut app);
    let requested = runtime.clone();
    let ending = async move { requested.idle_after_shutdown_request().await };
    app.tasks.spawn(ending, |app, ()| app.quit());
    match prompts(&app.session).await {
        Ok(prompts) => {
            for FirstPrompt { text, images } in prompts {
                app::submit::prompt_with_images(&mut app, text, images);
            }
        }
        Err(error) => app.error(error),
    }
    let outcome = Box::pin(app::event_loop::run(&mut app, sources)).await;
    app::leave::leave(&mut app, session_directory.as_deref());
    let _ = timeout(GRACE_PERIOD, runtime.shut_down()).await;
    Ok(outcome)
}

/// Shows the selector of resources, without a session.
pub async fn select_resources(
    program: Program,
    environment: Environment,
    settings: SettingsStore,
    scope: SettingsScope,
) -> Result<Outcome, StartError<Infallible>> {
    let work = async move {
        let options = ScreenOptions::default();
        let preferences = preferences::read(settings.settings(), &options, &environment);
        let mut prelude = Prelude::open(program, &environment, &preferences)?;
        let (keymap, _) = keys::load(&environment);
        let mut panel = ResourcesPanel::new(environment.clone(), settings, scope);
        let answer = prelude.ask(&environment, &preferences, &keymap, &mut panel).await;
        prelude.display.close();
        Ok(match answer {
            Ok(_) => Outcome::Completed,
            Err(outcome) => outcome,
        })
    };
    LocalSet::new().run_until(Box::pin(work)).await
}

/// Asks which session to resume.
async fn resumed(
    prelude: &mut Prelude,
    environment: &Environment,
    preferences: &Preferences,
    shared_directory: Option<PathBuf>,
) -> Result<String, Outcome> {
    let (keymap, _) = keys::load(environment);
    let mut panel = ResumePanel::new(panels::resume::Options {
        environment,
        shared_directory,
        cwd: environment.cwd.clone(),
        open: None,
        can_rename: false,
        keymap: &keymap,
    });
    match prelude.ask(environment, preferences, &keymap, &mut panel).await? {
        Some(Answer::Open(path)) => Ok(path.display().to_string()),
        _ => Err(Outcome::Completed),
    }
}
