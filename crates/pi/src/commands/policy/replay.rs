//! `pi policy replay`: what was done in past sessions, judged again.
//!
//! One entry at a time: a session may be long.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::guard::{Call, Guard, GuardError, Judgment, Outcome, ToolOrigin};
use pi_coding_agent::{AgentOptions, load_guard};
use pi_guard::Decision;
use pi_protocol::{
    AgentMessage, Effects, EntryBody, Message, ToolCall, ToolResultMessage, UserBlock,
};
use pi_session::{BashExecution, Session};
use pi_tools::{Host, Workspace, toolset};
use serde_json::{Map, Value, json};

use super::plain::{self, Plain};
use super::sessions::Store;
use super::{Done, Failure, SHOWN, export, options, reason, word};
use crate::exit::{Exit, note};
use crate::flags::parse::Given;
use crate::secrets;

pub(in crate::commands) fn replay(given: &Given) -> Done {
    let mut store = Store::open(given)?;
    let options = absolute(options(given, &store.environment)?);
    let mut failed = false;
    let mut paths = Vec::new();
    if given.words.is_empty() {
        let all = store.list(given.has("all"));
        paths.extend(all.into_iter().map(|session| session.path));
    }
    for reference in &given.words {
        match store.find(reference) {
            Ok(path) => paths.push(path),
            Err(failure) => failed |= tell(failure)?,
        }
    }
    let mut replay = Replay {
        changes: given.has("rules"),
        judges: None,
        options,
        report: Report::new(given.has("json"))?,
    };
    for path in &paths {
        match replay.session(path) {
            Ok(whole) => failed |= !whole,
            Err(failure) => failed |= tell(failure)?,
        }
    }
    replay.report.finish()?;
    Ok(if failed { Exit::Failed } else { Exit::Success }.into())
}

/// Says what is wrong with one session, and goes on; the rest ends everything.
fn tell(failure: Failure) -> Result<bool, Failure> {
    match failure {
        Failure::Failed(message) | Failure::NotConfined(message) => {
            note(&message);
            Ok(true)
        }
        other => Err(other),
    }
}

/// Each session is judged as in its own directory, but the files that were named are from here.
fn absolute(mut options: AgentOptions) -> AgentOptions {
    let environment = &options.environment;
    let rules = options.settings.get_mut("guard").and_then(|guard| guard.get_mut("rules"));
    if let Some(Value::Array(files)) = rules {
        for file in files {
            let path = environment.expand(file.as_str().unwrap_or_default(), &environment.cwd);
            *file = Value::String(path.to_string_lossy().into_owned());
        }
    }
    options
}

struct Replay {
    /// Rules are compared with none, not with what was done.
    changes: bool,
    options: AgentOptions,
    /// Those of the last directory: the next session may be of the same.
    judges: Option<Judges>,
    report: Report,
}

/// Whoever judges in a directory.
struct Judges {
    cwd: PathBuf,
    workspace: Workspace,
    now: Guard,
    /// Without the rules that were named.
    before: Option<Guard>,
    /// The directory is not there any more, so there can be no sandbox for it.
    gone: bool,
}

/// The tool that a command of the user is reported as.
const USER_COMMAND: &str = "bash";

/// Something that was done.
struct Action<'a> {
    entry: &'a str,
    tool: &'a str,
    arguments: &'a Map<String, Value>,
    effects: &'a Effects,
    /// The user did it, not the model.
    by_user: bool,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    Ran,
    Refused,
    /// Nothing is recorded.
    Unknown,
}

impl Replay {
    /// Judges a session; says whether all of it could be read.
    fn session(&mut self, path: &Path) -> Result<bool, Failure> {
        let mut session = export::open(path)?;
        session.verify()?;
        for problem in session.damaged_lines() {
            let (path, at) = (path.display(), problem.offset);
            note(&format!("{path}: damaged at byte {at}: {}; left out", problem.reason));
        }
        self.ready(session.cwd())?;
        let place = Place { id: session.id(), path, cwd: session.cwd() };
        self.report.begin();
        self.entries(&session, &place)?;
        Ok(session.damaged_lines().is_empty())
    }

    fn ready(&mut self, cwd: &Path) -> Result<(), GuardError> {
        if self.judges.as_ref().is_some_and(|judges| judges.cwd == cwd) {
            return Ok(());
        }
        let mut options = self.options.clone();
        cwd.clone_into(&mut options.environment.cwd);
        let now = load_guard(&options)?;
        let before = if self.changes {
            if let Some(Value::Object(guard)) = options.settings.get_mut("guard") {
                guard.remove("rules");
            }
            Some(load_guard(&options)?)
        } else {
            None
        };
        let home = options.environment.home.clone();
        let workspace = Workspace::new(Arc::new(Host::default()), cwd.to_owned(), home);
        let gone = !cwd.is_dir();
        self.judges = Some(Judges { cwd: cwd.to_owned(), workspace, now, before, gone });
        Ok(())
    }

    fn entries(&mut self, session: &Session, place: &Place<'_>) -> Result<(), Failure> {
        // Calls whose results are still to come: those of one message.
        let mut open: Vec<(String, ToolCall)> = Vec::new();
        for entry in session.entries() {
            let entry = entry?;
            let EntryBody::Message(message) = &entry.body else { continue };
            match message {
                AgentMessage::Llm(Message::Assistant(said)) => {
                    for (id, call) in open.drain(..) {
                        self.call(place, &id, &call, Record::Unknown)?;
                    }
                    let calls = said.tool_calls().filter(|call| is_looked_at(call));
                    open.extend(calls.map(|call| (entry.id.clone(), call.clone())));
                }
                AgentMessage::Llm(Message::ToolResult(result)) => {
                    let mine = |(_, call): &(String, ToolCall)| call.id == result.tool_call_id;
                    if let Some(at) = open.iter().position(mine) {
                        let (id, call) = open.swap_remove(at);
                        self.call(place, &id, &call, recorded(result))?;
                    }
                }
                message => {
                    if let Some(run) = message.as_custom::<BashExecution>() {
                        let effects = Effects::none().summary(run.command.as_str(), true);
                        let action = Action {
                            entry: &entry.id,
                            tool: USER_COMMAND,
                            arguments: &Map::new(),
                            effects: &effects.run(run.command),
                            by_user: true,
                        };
                        self.judge(place, &action, Record::Ran)?;
                    }
                }
            }
        }
        for (id, call) in open {
            self.call(place, &id, &call, Record::Unknown)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        place: &Place<'_>,
        entry: &str,
        call: &ToolCall,
        record: Record,
    ) -> Result<(), Failure> {
        let (tool, arguments) = (call.name.as_str(), &call.arguments);
        let effects = &toolset::effects_of(tool, arguments);
        self.judge(place, &Action { entry, tool, arguments, effects, by_user: false }, record)
    }

    fn judge(
        &mut self,
        place: &Place<'_>,
        action: &Action<'_>,
        record: Record,
    ) -> Result<(), Failure> {
        let Some(judges) = &self.judges else { return Ok(()) };
        let (now, judgement) = judges.decide(&judges.now, action);
        let (old, differs) = match &judges.before {
            Some(before) => {
                let (old, _) = judges.decide(before, action);
                (old, old != now)
            }
            None => match record {
                Record::Ran => ("ran", now != "allow"),
                Record::Refused => ("refused", now == "allow"),
                Record::Unknown => ("no result", now != "allow"),
            },
        };
        self.report.count += 1;
        if differs {
            self.report.difference(place, action, [old, now], &judgement)?;
        }
        Ok(())
    }
}

impl Judges {
    /// What one of them decides about it, in a word.
    fn decide(&self, guard: &Guard, action: &Action<'_>) -> (&'static str, Judgment) {
        if action.by_user {
            // Whoever types a command has approved it.
            let judgement = guard.judge_command(&action.effects.runs.join("\n"));
            let forbidden = judgement.verdict.decision == Decision::Forbid;
            return (word(if forbidden { Outcome::Refuse } else { Outcome::Run }), judgement);
        }
        let call = Call {
            tool: action.tool,
            arguments: action.arguments,
            effects: action.effects,
            origin: ToolOrigin::Builtin,
        };
        let judgement = guard.judge(call, &self.workspace);
        // Where it runs is not what is compared: any rule makes that matter for many.
        let confined = judgement.outcome == Outcome::RunConfined;
        let allowed = self.gone && judgement.verdict.decision == Decision::Allow;
        (word(if allowed || confined { Outcome::Run } else { judgement.outcome }), judgement)
    }
}

/// Returns true for a call of a built-in tool that runs commands, writes files or connects.
fn is_looked_at(call: &ToolCall) -> bool {
    let effects = toolset::effects_of(&call.name, &call.arguments);
    !effects.undeclared && !effects.is_read_only() && call.arguments_error.is_none()
}

/// Whether it was run, by what the model was told.
fn recorded(result: &ToolResultMessage) -> Record {
    let first = result.content.iter().find_map(UserBlock::as_text).unwrap_or_default();
    let refused = ["This is not allowed and was not run.", "This was not run:"];
    if result.is_error && refused.iter().any(|refused| first.starts_with(refused)) {
        Record::Refused
    } else {
        Record::Ran
    }
}

/// Which session it is.
struct Place<'a> {
    id: &'a str,
    path: &'a Path,
    cwd: &'a Path,
}

/// What is printed, as it is found.
struct Report {
    out: Plain<BufWriter<std::io::StdoutLock<'static>>>,
    json: bool,
    /// The session was named already.
    named: bool,
    sessions: usize,
    count: usize,
    different: usize,
}

impl Report {
    fn new(json: bool) -> Result<Self, Failure> {
        let mut out = Plain::new(BufWriter::new(std::io::stdout().lock()));
        if json {
            write!(out, "[")?;
        }
        Ok(Self { out, json, named: false, sessions: 0, count: 0, different: 0 })
    }

    /// Another session.
    fn begin(&mut self) {
        self.named = false;
        self.sessions += 1;
    }

    fn difference(
        &mut self,
        place: &Place<'_>,
        action: &Action<'_>,
        [old, new]: [&str; 2],
        judgement: &Judgment,
    ) -> Result<(), Failure> {
        self.different += 1;
        let summary = action.effects.summary.as_ref();
        let what = summary.map(|summary| summary.text.as_str()).unwrap_or_default();
        if self.json {
            let mut difference = json!({
                "session": place.id,
                "path": place.path,
                "cwd": place.cwd,
                "entry": action.entry,
                "tool": action.tool,
                "byUser": action.by_user,
                "what": what,
                "old": old,
                "new": new,
                "judgement": judgement,
            });
            secrets::own().redact_json(&mut difference);
            write!(self.out, "{}\n{difference}", if self.different > 1 { "," } else { "" })?;
            return Ok(());
        }
        if !std::mem::replace(&mut self.named, true) {
            let cwd = place.cwd.display().to_string();
            writeln!(self.out, "{} in {}", place.id, plain::line(&cwd, usize::MAX))?;
        }
        let (entry, tool) = (plain::line(action.entry, 40), plain::line(action.tool, 40));
        let secrets = secrets::own();
        let what = plain::line(&secrets.redact(what), SHOWN);
        writeln!(self.out, "  {entry}  {old} -> {new}  {tool}: {what}")?;
        writeln!(self.out, "      {}", secrets.redact(&reason(judgement)))?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.json {
            writeln!(self.out, "{}]", if self.different > 0 { "\n" } else { "" })?;
        }
        self.out.flush()?;
        if !self.json {
            let (different, count, sessions) = (self.different, self.count, self.sessions);
            note(&format!("{different} of {count} differ, in {sessions} sessions"));
        }
        Ok(())
    }
}
