//! The session selector: lists, searches, renames and deletes sessions.
//!
//! `sessions` decides which rows are shown, `matching` which sessions a query finds, `worker` reads
//! files on a thread of its own, `rows` draws. This file connects them to the keys.

mod age;
mod matching;
mod rows;
mod sessions;
#[cfg(test)]
mod tests;
mod worker;

use std::path::PathBuf;

use pi_coding_agent::Environment;
use pi_session::SessionInfo;
use pi_tui::input::{Input, Key, Keymap};
use pi_tui::list::ListEvent;
use pi_tui::{InputEvent, InputLine, Line, View};
use tokio::sync::Notify;

use super::super::panel::{Panel, PanelEvent};
use matching::Query;
use sessions::{Scope, Sessions};
use worker::{Reply, Worker};

/// Choice of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Resume this session.
    Open(PathBuf),
    /// Give the open session a name. The panel cannot: the file is locked by the open session.
    NameOpenSession(String),
}

/// Input of the panel.
pub(crate) struct Options<'a> {
    pub(crate) environment: &'a Environment,
    /// Directory for all sessions; `None` if each working directory has its own.
    pub(crate) shared_directory: Option<PathBuf>,
    /// Working directory whose sessions are shown first.
    pub(crate) cwd: PathBuf,
    /// File of the open session; `None` before there is one.
    pub(crate) open: Option<PathBuf>,
    pub(crate) can_rename: bool,
    pub(crate) keymap: &'a Keymap,
}

/// The panel.
pub(crate) struct ResumePanel {
    sessions: Sessions,
    search: InputLine,
    state: State,
    /// A problem to show instead of the first row of hints.
    problem: Option<String>,
    can_rename: bool,
    keys: rows::Keys,
    worker: Worker,
}

/// Target of the keys.
enum State {
    List,
    /// The user is asked whether to delete this session.
    Deleting(SessionInfo),
    Renaming {
        session: SessionInfo,
        name: Box<InputLine>,
    },
}

impl ResumePanel {
    pub(crate) fn new(options: Options<'_>) -> Self {
        let Options { environment, shared_directory, cwd, open, can_rename, keymap } = options;
        let worker = Worker::start(environment, shared_directory, &cwd);
        let home = environment.home.clone().unwrap_or_default();
        Self {
            sessions: Sessions::new(cwd, open, home),
            search: InputLine::new(),
            state: State::List,
            problem: None,
            can_rename,
            keys: rows::Keys::new(keymap),
            worker,
        }
    }

    /// Applies what the worker found. Returns true if it found something.
    fn take_replies(&mut self) -> bool {
        let mut is_changed = false;
        while let Some(reply) = self.worker.reply() {
            is_changed = true;
            match reply {
                Reply::Listed { sessions, is_complete } => {
                    self.sessions.set(sessions, is_complete);
                }
                Reply::Found { query, found } => self.sessions.set_found(&query, found),
                Reply::Deleted(path, Ok(())) => self.sessions.remove(&path),
                Reply::Renamed(path, name, Ok(())) => self.sessions.rename(&path, &name),
                Reply::Deleted(_, Err(problem)) | Reply::Renamed(_, _, Err(problem)) => {
                    self.problem = Some(problem);
                }
            }
        }
        is_changed
    }

    fn list_key(&mut self, key: &Key, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        let is = |action| keymap.is(key, action);
        self.problem = None;
        if is("tui.input.tab") {
            self.sessions.toggle_scope();
        } else if is("app.session.toggleSort") {
            self.sessions.cycle_sort();
        } else if is("app.session.toggleNamedFilter") {
            self.sessions.toggle_named();
        } else if is("app.session.togglePath") {
            self.sessions.toggle_path();
        } else if is("app.session.delete")
            || (is("app.session.deleteNoninvasive") && self.search.is_empty())
        {
            self.ask_to_delete();
        } else if self.can_rename && is("app.session.rename") {
            self.start_renaming();
        } else {
            match self.sessions.selection.handle(key, keymap) {
                ListEvent::Confirmed => {
                    return match self.sessions.selected() {
                        Some(session) => {
                            PanelEvent::Close(Some(Answer::Open(session.path.clone())))
                        }
                        None => PanelEvent::Changed,
                    };
                }
                ListEvent::Cancelled => return PanelEvent::Close(None),
                ListEvent::Ignored => return self.search_input(input, keymap),
                _ => {}
            }
        }
        PanelEvent::Changed
    }

    fn search_input(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        match self.search.handle(input, keymap) {
            InputEvent::Ignored => PanelEvent::Ignored,
            InputEvent::Changed => {
                let query = Query::parse(self.search.text());
                if let Some(text) = query.full_text() {
                    self.worker.search(text);
                }
                self.sessions.set_query(query);
                PanelEvent::Changed
            }
            _ => PanelEvent::Changed,
        }
    }

    fn ask_to_delete(&mut self) {
        let Some(session) = self.sessions.selected().cloned() else { return };
        if self.sessions.is_open(&session) {
            self.problem = Some("This session is open; start another one to delete it".to_owned());
        } else {
            self.state = State::Deleting(session);
        }
    }

    fn start_renaming(&mut self) {
        let Some(session) = self.sessions.selected().cloned() else { return };
        let mut name = InputLine::new();
        name.set_text(session.name.as_deref().unwrap_or_default());
        self.state = State::Renaming { session, name: Box::new(name) };
    }

    fn delete_key(&mut self, key: &Key, keymap: &Keymap) -> PanelEvent<Answer> {
        if keymap.is(key, "tui.select.confirm") {
            if let State::Deleting(session) = std::mem::replace(&mut self.state, State::List) {
                self.worker.delete(session);
            }
        } else if keymap.is(key, "tui.select.cancel") {
            self.state = State::List;
        }
        PanelEvent::Changed
    }

    fn rename_input(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        let State::Renaming { session, name } = &mut self.state else {
            return PanelEvent::Ignored;
        };
        let submitted = match name.handle(input, keymap) {
            InputEvent::Submit(text) => text.trim().to_owned(),
            InputEvent::Cancel => String::new(),
            InputEvent::Ignored => return PanelEvent::Ignored,
            _ => return PanelEvent::Changed,
        };
        let session = session.clone();
        self.state = State::List;
        if submitted.is_empty() {
            return PanelEvent::Changed;
        }
        if self.sessions.is_open(&session) {
            self.sessions.rename(&session.path, &submitted);
            return PanelEvent::Do(Answer::NameOpenSession(submitted));
        }
        self.worker.rename(session.path, submitted);
        PanelEvent::Changed
    }
}

impl Panel<Answer> for ResumePanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        rows::panel(self, view)
    }

    fn update(&mut self) -> bool {
        self.take_replies()
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        self.take_replies();
        match (&self.state, input) {
            (State::List, Input::Key(key)) => self.list_key(key, input, keymap),
            (State::List, _) => self.search_input(input, keymap),
            (State::Deleting(_), Input::Key(key)) => self.delete_key(key, keymap),
            (State::Deleting(_), _) => PanelEvent::Ignored,
            (State::Renaming { .. }, _) => self.rename_input(input, keymap),
        }
    }

    fn background(&self) -> Option<&Notify> {
        Some(self.worker.changed())
    }
}

impl ResumePanel {
    /// Returns true if the sessions of all directories are shown.
    fn shows_all(&self) -> bool {
        self.sessions.scope() == Scope::All
    }
}
