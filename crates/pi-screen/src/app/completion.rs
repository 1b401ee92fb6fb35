//! Completions of the editor: commands and their arguments, files after `@`, paths on Tab, and what
//! extensions offer.
//!
//! All answers are for the text that is there now. Slow sources answer from what they know and do
//! their work in the background; when it is done, the editor asks again.

mod arguments;
mod asked;
mod files;
mod listing;
mod paths;
mod rank;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use std::time::Duration;

use pi_coding_agent::extension::{
    Completion as Offered, CompletionProvider, CompletionRequest as Question, Suggestion,
    Suggestions,
};
use pi_coding_agent::session::{AgentSession, CommandInfo, CommandSource};
use pi_mcp_host::servers_of;
use pi_tui::completion::context::{self, Context};
use pi_tui::completion::{
    Command, Completer, Completion, CompletionKind, CompletionRequest, Completions as Found,
    command,
};

use crate::app::App;
use crate::app::commands;
use crate::tasks::Tasks;
use asked::{Asked, Provided};
use files::Files;
use paths::Paths;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// Time between two questions to a source that works in the background.
const PAUSE: Duration = Duration::from_millis(25);

/// The sources of completions.
pub(crate) struct Completions {
    commands: Vec<Command>,
    /// Generation of the registry at which the commands were read.
    generation: u64,
    has_skill_commands: bool,
    session: Option<AgentSession>,
    places: Places,
    files: Files,
    paths: Paths,
    asked: Asked,
    /// Waits for changes of MCP servers.
    following: Option<JoinHandle<()>>,
}

/// The directories that words are relative to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

impl Completions {
    /// Creates the sources. Nothing is read before the first completion.
    pub(crate) fn new(tasks: Tasks<App>, home: Option<PathBuf>) -> Self {
        Self {
            commands: Vec::new(),
            generation: 0,
            has_skill_commands: true,
            session: None,
            places: Places { cwd: PathBuf::new(), home },
            files: Files::new(tasks.clone()),
            paths: Paths::default(),
            asked: Asked::new(tasks),
            following: None,
        }
    }

    /// Reads the commands of the screen and of the session. Commands for skills are left out if the
    /// user does not want them.
    pub(crate) fn refresh(&mut self, session: &AgentSession, has_skill_commands: bool) {
        self.has_skill_commands = has_skill_commands;
        self.read_commands(session);
        self.places.cwd = session.workspace().cwd().to_owned();
        self.asked.forget(session);
        self.session = Some(session.clone());
    }

    /// Reads the commands again if some were added since: prompts of a server become known when the
    /// server is connected, and extensions register commands at any time.
    fn read_added_commands(&mut self) {
        let Some(session) = self.session.clone() else { return };
        if session.extensions().registry().generation() != self.generation {
            self.read_commands(&session);
        }
    }

    fn read_commands(&mut self, session: &AgentSession) {
        self.generation = session.extensions().registry().generation();
        let own = commands::of(session).map(|command| Command {
            name: command.name.to_owned(),
            hint: command.arguments.map(str::to_owned),
            description: command.description.to_owned(),
        });
        let others = session.commands().into_iter();
        let has_skills = self.has_skill_commands;
        let others = others.filter(|one| has_skills || one.source != CommandSource::Skill);
        self.commands = own.chain(others.map(described)).collect();
    }

    /// Adds a source of an extension.
    pub(crate) fn add_provider(&mut self, provider: CompletionProvider) {
        self.asked.add_provider(provider);
    }

    /// Forgets the sources that were added after the start of the session.
    pub(crate) fn forget_added(&mut self) {
        if let Some(session) = &self.session {
            self.asked.forget(session);
        }
    }

    fn arguments(&mut self, command: &str, text: &str, start: usize) -> Option<Found> {
        let session = self.session.as_ref()?;
        let Some(items) = arguments::of(command, text, session) else {
            return self.asked.arguments(session, command, text, start);
        };
        found(CompletionKind::Argument, start..start + text.len(), items)
    }
}

impl Completer for Completions {
    fn complete(&mut self, request: &CompletionRequest<'_>) -> Option<Found> {
        // Those of extensions come first: they may add to the others, or pass.
        match self.asked.provided(request) {
            Provided::Found(found) => return Some(found),
            Provided::Waiting => {
                let own = self.own(request);
                return own.map(|own| Found { is_complete: false, ..own });
            }
            Provided::Passed => {}
        }
        self.own(request)
    }
}

impl Completions {
    /// Returns the completions of the screen itself.
    fn own(&mut self, request: &CompletionRequest<'_>) -> Option<Found> {
        let own = match context::of(request) {
            Context::Command { name } => {
                self.read_added_commands();
                let found = command::completions(name, &self.commands);
                if found.items.is_empty() { None } else { Some(found) }
            }
            Context::Argument { command, text, start } => self.arguments(command, text, start),
            Context::File(token) => self.files.complete(&token, request.column, &self.places),
            Context::Word(_) => None,
        };
        if own.is_some() {
            return own;
        }
        if request.is_forced {
            let token = context::token(request.before());
            return self.paths.complete(&token, request.column, &self.places);
        }
        None
    }
}

/// Answers with the completions of the screen itself. A source that works in the background is asked
/// again until it has answered.
pub(crate) fn suggest(
    app: &mut App,
    request: Question,
    answer: oneshot::Sender<Option<Suggestions>>,
    tries: usize,
) {
    let text = request.text.get(..request.cursor).unwrap_or_default();
    let line = text.matches('\n').count();
    let column = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
    let lines: Vec<String> = request.text.split('\n').map(str::to_owned).collect();
    let is_forced = request.is_forced;
    let asked = CompletionRequest { lines: &lines, line, column, is_forced };
    let found = app.completions.own(&asked);
    if found.as_ref().is_some_and(|found| !found.is_complete) && tries > 0 {
        let pause = tokio::time::sleep(PAUSE);
        app.tasks.spawn(pause, move |app, ()| suggest(app, request, answer, tries - 1));
        return;
    }
    let before = asked.before();
    let suggestions = found.map(|found| Suggestions {
        prefix: before.get(found.replaced.start..).unwrap_or_default().to_owned(),
        items: found.items.into_iter().map(suggestion).collect(),
    });
    // The caller may be gone.
    let _ = answer.send(suggestions);
}

fn suggestion(item: Completion) -> Suggestion {
    let Completion { label, description, insert, caret_back } = item;
    let completion = Offered { value: insert, label, description };
    Suggestion { completion, cursor_back: caret_back }
}

/// Returns completions, or nothing if there are none.
fn found(
    kind: CompletionKind,
    replaced: std::ops::Range<usize>,
    items: Vec<Completion>,
) -> Option<Found> {
    (!items.is_empty()).then_some(Found { kind, replaced, items, is_complete: true })
}

/// Asks the sources again, because one of them knows more.
fn refresh(app: &mut App) {
    app.editor.refresh_completion(&mut app.completions);
}

/// Asks the sources again whenever something becomes known of the MCP servers of a session, such as
/// the prompts of one. Ends with the session.
pub(crate) fn follow_servers(app: &mut App) {
    if let Some(changes) = servers_of(&app.session).map(|servers| servers.changes()) {
        follow(app, changes);
    }
}

fn follow(app: &mut App, mut changes: watch::Receiver<u64>) {
    let next = async move { changes.changed().await.is_ok().then_some(changes) };
    let following = app.tasks.spawn(next, |app, changes| {
        if let Some(changes) = changes {
            refresh(app);
            follow(app, changes);
        }
    });
    if let Some(before) = app.completions.following.replace(following) {
        before.abort();
    }
}

/// Returns a command of the session for the menu. A letter says where it comes from.
fn described(command: CommandInfo) -> Command {
    let scope = command.source_info.get("scope").and_then(|scope| scope.as_str());
    let mark = match scope {
        Some("user") => "[u] ",
        Some("project") => "[p] ",
        Some("temporary") => "[t] ",
        _ => "",
    };
    let description = command.description.unwrap_or_default();
    Command {
        name: command.name,
        hint: command.argument_hint,
        description: format!("{mark}{description}").trim_end().to_owned(),
    }
}

impl Places {
    /// Splits what is typed into the directory that it names, as typed, and the rest.
    fn split<'a>(&self, typed: &'a str) -> (PathBuf, &'a str, &'a str) {
        let at = typed.rfind('/').map_or(0, |at| at + 1);
        let (head, rest) = typed.split_at(at);
        (self.resolve(head), head, rest)
    }

    fn resolve(&self, typed: &str) -> PathBuf {
        match (typed.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.cwd.join(Path::new(typed)),
        }
    }
}
