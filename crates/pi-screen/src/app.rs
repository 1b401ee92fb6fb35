//! The application: the parts of the screen and the session that they show.
//!
//! This file only holds the parts together. Each part renders itself; what happens on keys is in
//! `actions`, `submit` and `interrupt`, what commands do in `commands`, what the session reports in
//! `events`, what extensions request in `requests`, and `event_loop` calls them.

use std::time::Instant;

use pi_coding_agent::config::SettingsStore;
use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::{AgentRuntime, AgentSession, Environment};
use pi_protocol::Outcome;
use pi_tui::editor::Editor;
use pi_tui::input::Keymap;

use super::activity::Activity;
use super::completion::Completions;
use super::display::Display;
use super::events;
use super::flash::Flash;
use super::footer::Footer;
use super::header::{self, Start};
use super::mounts::Mounts;
use super::notify::Told;
use super::panel::{Panel, PanelId, Panels};
use super::preferences::Preferences;
use super::queue::Queue;
use super::search::SearchBox;
use super::tasks::Tasks;
use super::themes::Themes;
use super::transcript::{self, Transcript};
use super::ui::ScreenUi;
use super::widgets::Widgets;
use crate::Agent;
use crate::program::{Program, ScreenOptions};

/// The parts of the application.
pub(super) struct App {
    pub(super) program: Program,
    pub(super) environment: Environment,
    pub(super) settings: SettingsStore,
    /// Options that take precedence over settings.
    pub(super) options: ScreenOptions,
    pub(super) preferences: Preferences,
    pub(super) runtime: AgentRuntime,
    pub(super) session: AgentSession,
    pub(super) ui: ScreenUi,
    pub(super) tasks: Tasks,
    pub(super) keymap: Keymap,
    pub(super) themes: Themes,
    pub(super) display: Display,
    pub(super) transcript: Transcript,
    pub(super) queue: Queue,
    pub(super) activity: Activity,
    pub(super) widgets: Widgets,
    pub(super) mounts: Mounts,
    pub(super) editor: Editor,
    pub(super) completions: Completions,
    pub(super) panels: Panels,
    /// The search in the transcript, while it is open.
    pub(super) search: Option<SearchBox>,
    pub(super) footer: Footer,
    pub(super) flash: Flash,
    pub(super) start: Start,
    pub(super) told: Told,
    pub(super) presses: Presses,
    /// Set when the program ends.
    pub(super) exit: Option<Leave>,
}

/// The way in which the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// The user left.
    Quit,
    /// A signal arrived or the terminal is gone.
    Signal(Outcome),
}

impl From<Leave> for Outcome {
    fn from(leave: Leave) -> Self {
        match leave {
            Leave::Quit => Outcome::Completed,
            Leave::Signal(outcome) => outcome,
        }
    }
}

/// The times of keys that mean something when pressed twice.
#[derive(Debug, Default)]
pub(super) struct Presses {
    pub(super) escape: Option<Instant>,
    pub(super) clear: Option<Instant>,
}

impl App {
    /// Shows a line that the next one may replace.
    pub(super) fn status(&mut self, text: impl Into<String>) {
        self.transcript.status(text.into());
    }

    /// Shows a message that needs no place in the transcript.
    pub(super) fn flash(&mut self, text: impl Into<String>) {
        match self.display.is_fullscreen() {
            true => self.flash.show(text.into(), Instant::now()),
            false => self.status(text),
        }
    }

    /// Shows an error.
    pub(super) fn error(&mut self, text: impl Into<String>) {
        self.transcript.notice(NotifyKind::Error, text.into(), None);
    }

    /// Shows an error and what the user can do about it.
    pub(super) fn error_with_hint(&mut self, text: impl Into<String>, hint: Option<String>) {
        self.transcript.notice(NotifyKind::Error, text.into(), hint);
    }

    /// Shows a warning.
    pub(super) fn warning(&mut self, text: impl Into<String>) {
        self.transcript.notice(NotifyKind::Warning, text.into(), None);
    }

    /// Shows a panel instead of the editor.
    pub(super) fn open(&mut self, panel: impl Panel + 'static) -> PanelId {
        self.panels.open(Box::new(panel))
    }

    /// Ends the program after this round of the event loop.
    pub(super) fn quit(&mut self) {
        self.exit.get_or_insert(Leave::Quit);
    }
}

/// Parts that the application is built from.
pub(super) struct Parts {
    pub(super) program: Program,
    pub(super) environment: Environment,
    pub(super) settings: SettingsStore,
    pub(super) options: ScreenOptions,
    pub(super) preferences: Preferences,
    pub(super) agent: Agent,
    pub(super) ui: ScreenUi,
    pub(super) tasks: Tasks,
    pub(super) display: Display,
    /// The theme, and the problem of one that cannot be used.
    pub(super) themes: (Themes, Option<String>),
    /// The keys, and the problems of their file.
    pub(super) keys: (Keymap, Vec<String>),
}

/// Puts the application together and shows the session.
pub(super) fn build(parts: Parts) -> App {
    let Parts {
        program,
        environment,
        settings,
        options,
        preferences,
        agent,
        ui,
        tasks,
        display,
        themes: (themes, theme_problem),
        keys: (keymap, key_problems),
    } = parts;
    let runtime = agent.runtime;
    let session = runtime.session();
    let transcript = Transcript::new(transcript::Options {
        output_pad: preferences.output_pad,
        code_indent: preferences.code_indent.clone(),
        hide_thinking: preferences.hide_thinking,
        cache_misses: preferences.cache_misses,
        expanded: false,
        hyperlinks: display.capabilities.hyperlinks,
        images: display.image_limits(&preferences),
        mermaid: preferences.mermaid.as_str().to_owned(),
        hidden_thinking_label: None,
        expand_key: keymap.label("app.tools.expand"),
        home: environment.home.clone(),
    });
    let mut editor = Editor::new();
    editor.set_padding(preferences.editor_padding);
    editor.set_max_menu_rows(preferences.menu_rows);
    editor.set_hardware_cursor(preferences.hardware_cursor);
    editor.set_vim(preferences.vim);
    let footer = Footer { home: environment.home.clone(), ..Footer::default() };
    let is_apple = environment.variable("TERM_PROGRAM") == Some("Apple_Terminal");
    let start = Start::new(agent.notices, environment.home.clone(), is_apple);
    let completions = Completions::new(tasks.clone(), environment.home.clone());
    let is_verbose = options.is_verbose;
    let mut app = App {
        program,
        environment,
        settings,
        options,
        preferences,
        runtime,
        session,
        ui,
        tasks,
        keymap,
        themes,
        display,
        transcript,
        queue: Queue::default(),
        activity: Activity::default(),
        widgets: Widgets::default(),
        mounts: Mounts::default(),
        editor,
        completions,
        panels: Panels::default(),
        search: None,
        footer,
        flash: Flash::default(),
        start,
        told: Told::default(),
        presses: Presses::default(),
        exit: None,
    };
    if is_verbose {
        app.start.be_verbose();
        app.transcript.set_expanded(true);
    }
    header::welcome(&mut app);
    events::session_started(&mut app);
    for problem in theme_problem.into_iter().chain(key_problems) {
        app.warning(problem);
    }
    header::show_problems(&mut app);
    app
}
