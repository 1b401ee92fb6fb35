//! The interactive mode: the session on a screen.
//!
//! [`run`] opens the terminal, creates the session and runs the event loop. `app` holds the parts
//! together; each part has a file of its own. `transcript` shows the conversation, `dock` what is
//! below it, `panel` what replaces the editor for a while, `commands` the slash commands.
//!
//! Nothing here decides what a session does: this mode connects the library to `pi-tui`.

mod actions;
mod activity;
mod app;
mod clipboard;
mod commands;
mod completion;
mod components;
mod composition;
mod display;
mod dock;
mod document;
mod event_loop;
mod events;
mod external_editor;
mod first_run;
mod flash;
mod footer;
mod frame;
mod header;
mod input;
mod interrupt;
mod keyboard;
mod keys;
mod leave;
mod logins;
mod mounts;
mod notify;
mod output;
mod panel;
mod panels;
mod preferences;
mod prelude;
mod publish;
mod queue;
mod raw_input;
mod report;
mod requests;
mod search;
mod settings;
mod shortcuts;
mod signals;
mod submit;
mod suspend;
mod tasks;
mod themes;
mod transcript;
mod trust;
mod ui;
mod viewport;
mod widgets;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_coding_agent::config::{SettingsScope, SettingsStore, Trust};
use pi_coding_agent::extension::{RunMode, Ui};
use pi_coding_agent::mcp::OpenPage;
use pi_coding_agent::session::{SessionEvent, SessionListener};
use pi_coding_agent::{Environment, SessionSelector, load_settings};
use pi_host::browser;
use pi_host::sessions::shared_directory;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::timeout;

use app::{App, Leave, Parts};
use display::Display;
use event_loop::Sources;
use panels::resources::ResourcesPanel;
use panels::resume::{Answer, ResumePanel};
use preferences::Preferences;
use prelude::Prelude;
use signals::Signals;
use tasks::Tasks;
use themes::Themes;
use ui::{ScreenUi, UiRequest};

use crate::arguments::Arguments;
use crate::exit::{Exit, fail};
use crate::modes::setup;

/// Time that an agent has to shut down.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// Events that may wait for the screen. The session pauses when it is full.
const EVENTS: usize = 1024;

/// Returns true for the name of a command that only the screen has.
pub(crate) fn needs_screen(command: &str) -> bool {
    commands::COMMANDS.iter().any(|known| known.name == command)
}

/// Runs the interactive mode.
pub(crate) async fn run(arguments: &Arguments, environment: Environment) -> ExitCode {
    LocalSet::new().run_until(Box::pin(start(arguments, environment))).await
}

async fn start(arguments: &Arguments, environment: Environment) -> ExitCode {
    let mut options = setup::options(arguments, environment.clone());
    options.open_page = browser::program(&environment).map(|program| -> OpenPage {
        Arc::new(move |url| {
            // The page is shown in any case.
            let _ = browser::open(&program, url);
        })
    });
    let mut problems = Vec::new();
    let (mut settings, trust) = load_settings(&options, None, &mut problems);
    let mut preferences = preferences::read(settings.settings(), &arguments.screen, &environment);
    let signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return fail(&format!("cannot receive signals: {error}"), Exit::Failed),
    };
    let (display, keyboard) = match Display::open(&environment, &preferences) {
        Ok(opened) => opened,
        Err(error) => return fail(&format!("cannot use the terminal: {error}"), Exit::Failed),
    };
    let decoder = display.decoder();
    let mut prelude = Prelude { display, keyboard, decoder, signals };
    if arguments.resume {
        let shared = shared_directory(&environment, arguments.session_dir.as_deref());
        match resumed(&mut prelude, &environment, &preferences, shared).await {
            Ok(path) => options.session = SessionSelector::Existing(path),
            Err(leave) => {
                prelude.display.close();
                return leave.into();
            }
        }
    }
    let mut not_stored = None;
    if trust == Trust::Ask {
        match trust::ask(&mut prelude, &preferences, &mut options).await {
            Ok(problem) => not_stored = problem,
            Err(leave) => {
                prelude.display.close();
                return leave.into();
            }
        }
        // A trusted project has settings, too.
        (settings, _) = load_settings(&options, None, &mut problems);
        preferences = preferences::read(settings.settings(), &arguments.screen, &environment);
    }
    let (ui, requests) = ScreenUi::new();
    // Extensions read these when their session starts.
    let keys = keys::load(&environment);
    let sources = themes::sources(&settings, &arguments.screen, &environment);
    let depth = prelude.display.capabilities.color_depth;
    let setting = preferences.theme.as_deref();
    let mut themes = Themes::new(setting, depth, &environment, &sources);
    prelude.display.show_colors(&mut themes.0);
    publish::start(&ui, &keys.0, &themes.0, prelude.display.size());
    let interface: Arc<dyn Ui> = Arc::new(ui.clone());
    let waker = ui.clone();
    pi_tui::highlight::on_ready(move || waker.send(UiRequest::Redraw));
    let agent = Box::pin(setup::create_silently(arguments, options, interface, RunMode::Tui));
    let agent = match agent.await {
        Ok(agent) => agent,
        Err(refused) => {
            let mut display = prelude.display;
            display.close();
            return refused.report();
        }
    };
    let runtime = agent.runtime.clone();
    if themes.1.is_some() && runtime.session().extensions().registry().has_extensions() {
        // An extension may have offered the theme: it is tried again after what they requested.
        themes.1 = None;
        ui.send(UiRequest::SelectTheme(preferences.theme.clone().unwrap_or_default()));
    }
    let (sender, events) = mpsc::channel(EVENTS);
    runtime.add_listener(Arc::new(Forward(sender))).forever();
    let (tasks, effects) = Tasks::new();
    let Prelude { display, keyboard, decoder, signals } = prelude;
    let sources = Sources { keyboard, decoder, events, requests, effects, signals };
    let mut app = app::build(Parts {
        environment,
        settings,
        options: arguments.screen.clone(),
        preferences,
        agent,
        ui,
        themes,
        keys,
        tasks,
        display,
        is_verbose: arguments.verbose,
    });
    if let Some(problem) = not_stored {
        app.warning(problem);
    }
    first_run::show(&mut app);
    let requested = runtime.clone();
    let ending = async move { requested.idle_after_shutdown_request().await };
    app.tasks.spawn(ending, |app, ()| app.quit());
    prompts(arguments, &mut app).await;
    let leave = Box::pin(event_loop::run(&mut app, sources)).await;
    leave::leave(&mut app, arguments.session_dir.as_deref());
    let _ = timeout(GRACE_PERIOD, runtime.shut_down()).await;
    leave.into()
}

/// Shows the selector of resources, without a session.
pub(crate) async fn select_resources(
    environment: Environment,
    settings: SettingsStore,
    scope: SettingsScope,
) -> ExitCode {
    let work = async move {
        let options = crate::arguments::Screen::default();
        let preferences = preferences::read(settings.settings(), &options, &environment);
        let signals = match Signals::new() {
            Ok(signals) => signals,
            Err(error) => return fail(&format!("cannot receive signals: {error}"), Exit::Failed),
        };
        let (display, keyboard) = match Display::open(&environment, &preferences) {
            Ok(opened) => opened,
            Err(error) => return fail(&format!("cannot use the terminal: {error}"), Exit::Failed),
        };
        let decoder = display.decoder();
        let mut prelude = Prelude { display, keyboard, decoder, signals };
        let (keymap, _) = keys::load(&environment);
        let mut panel = ResourcesPanel::new(environment.clone(), settings, scope);
        let answer = prelude.ask(&environment, &preferences, &keymap, &mut panel).await;
        prelude.display.close();
        match answer {
            Ok(_) => Exit::Completed.into(),
            Err(leave) => leave.into(),
        }
    };
    LocalSet::new().run_until(Box::pin(work)).await
}

/// Asks which session to resume.
async fn resumed(
    prelude: &mut Prelude,
    environment: &Environment,
    preferences: &Preferences,
    shared_directory: Option<PathBuf>,
) -> Result<String, Leave> {
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
        _ => Err(Leave::Quit),
    }
}

/// Submits the messages and files of the command line.
async fn prompts(arguments: &Arguments, app: &mut App) {
    if arguments.messages.is_empty() && arguments.files.is_empty() && arguments.unknown.is_empty() {
        return;
    }
    match crate::modes::input::prompts(arguments, &app.session).await {
        Ok(prompts) => {
            for prompt in prompts {
                submit::prompt_with_images(app, prompt.text, prompt.images);
            }
        }
        Err(error) => app.error(error),
    }
}

/// Passes events to the event loop. A full channel pauses the session, so nothing is lost and
/// memory stays bounded.
struct Forward(mpsc::Sender<SessionEvent>);

impl SessionListener for Forward {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // A screen that is gone needs no events.
            let _ = self.0.send(event.clone()).await;
        })
    }
}
