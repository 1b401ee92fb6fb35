//! The application: the parts of the screen and the session that they show.
//!
//! This file only holds the parts together. The modules below it change the application: keys in
//! `input`, `actions`, `submit` and `interrupt`, slash commands in `commands`, events of the session
//! in `events`, requests of extensions in `requests`; `event_loop` calls them. Everything that knows
//! nothing of the application (transcript, panels, display, themes) is beside this module.

pub(crate) mod actions;
pub(crate) mod clipboard;
pub(crate) mod commands;
pub(crate) mod completion;
pub(crate) mod dock;
pub(crate) mod event_loop;
pub(crate) mod events;
pub(crate) mod external_editor;
pub(crate) mod first_run;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod leave;
pub(crate) mod logins;
pub(crate) mod mounts;
pub(crate) mod notify;
pub(crate) mod prompt_history;
pub(crate) mod publish;
pub(crate) mod requests;
pub(crate) mod search;
pub(crate) mod settings;
pub(crate) mod shortcuts;
pub(crate) mod submit;
pub(crate) mod suspend;
pub(crate) mod trust;
pub(crate) mod viewport;

use std::path::PathBuf;
use std::time::Instant;

use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::{AgentRuntime, AgentSession, Environment};
use pi_config::SettingsStore;
use pi_protocol::Outcome;
use pi_tui::editor::Editor;
use pi_tui::input::Keymap;

use self::completion::Completions;
use self::header::Start;
use self::mounts::Mounts;
use self::notify::Told;
use self::prompt_history::PromptHistory;
use self::search::SearchBox;
use super::activity::Activity;
use super::display::Display;
use super::flash::Flash;
use super::footer::Footer;
use super::panel::Panels;
use super::preferences::Preferences;
use super::queue::Queue;
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
    pub(super) tasks: Tasks<Self>,
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
    pub(super) panels: Panels<Self>,
    /// The search in the transcript, while it is open.
    pub(super) search: Option<SearchBox>,
    pub(super) footer: Footer,
    pub(super) flash: Flash,
    pub(super) start: Start,
    pub(super) told: Told,
    pub(super) presses: Presses,
    pub(super) history: PromptHistory,
    /// Images that were attached to the text of the editor since the start.
    pub(super) attached: Vec<PathBuf>,
    /// Set when the program ends.
    pub(super) exit: Option<Outcome>,
}

/// Keys that mean something when pressed twice.
#[derive(Debug, Default)]
pub(super) struct Presses {
    pub(super) escape: Option<Instant>,
    pub(super) clear: Option<Instant>,
    /// The text with an unknown command about which the user was asked.
    pub(super) unknown_command: Option<String>,
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

    /// Ends the program after this round of the event loop.
    pub(super) fn quit(&mut self) {
        self.exit.get_or_insert(Outcome::Completed);
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
    pub(super) tasks: Tasks<App>,
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
        code_indent: preferences.markdown.code_indent.clone(),
        hide_thinking: preferences.hide_thinking,
        cache_misses: preferences.cache_misses,
        expanded: false,
        hyperlinks: display.capabilities.hyperlinks,
        images: display.image_limits(&preferences),
        mermaid: preferences.markdown.mermaid.as_str().to_owned(),
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
        history: PromptHistory::default(),
        attached: Vec::new(),
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
    prompt_history::load(&mut app);
    app
}
