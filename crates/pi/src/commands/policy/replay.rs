//! `pi policy replay`: judges the actions of past sessions again.
//!
//! Reads one entry at a time, since sessions may be large.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_base::text;
use pi_coding_agent::guard::{Call, Guard, GuardError, Judgment, Outcome, ToolOrigin};
use pi_coding_agent::{AgentOptions, load_guard};
use pi_guard::Decision;
use pi_host::export::open;
use pi_protocol::{
    AgentMessage, Effects, EntryBody, Message, ToolCall, ToolResultMessage, UserBlock,
};
use pi_session::{BashExecution, Session};
use pi_tools::{Host, Workspace, toolset};
use serde_json::{Map, Value, json};

use super::plain::PlainWriter;
use super::sessions;
use super::{CommandResult, Failure, SHOWN, options, reason, word};
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;
use crate::secrets;

pub(in crate::commands) fn replay(args: &CommandArgs) -> CommandResult {
    let mut store = sessions::open(args)?;
    let options = absolute(options(args, store.project.clone())?);
    let mut failed = false;
    let mut paths = Vec::new();
    if args.words.is_empty() {
        let all = sessions::list_readable(&mut store, args.has("all"));
        paths.extend(all.into_iter().map(|session| session.path));
    }
    for reference in &args.words {
        match store.find(reference) {
            Ok(path) => paths.push(path),
            Err(error) => failed |= skip(error.into())?,
        }
    }
    let mut replay = Replay {
        compare_rules: args.has("rules"),
        guards: None,
        options,
        report: Report::new(args.has("json"))?,
    };
    for path in &paths {
        match replay.session(path) {
            Ok(whole) => failed |= !whole,
            Err(error) => failed |= skip(error)?,
        }
    }
    replay.report.finish()?;
    Ok(if failed { Exit::Failed } else { Exit::Completed }.into())
}

/// Reports the failure of one session and returns true; any other failure ends the command.
fn skip(failure: Failure) -> Result<bool, Failure> {
    match failure {
        Failure::Error { exit: Exit::Failed | Exit::SandboxUnavailable, .. } => {
            failure.report();
            Ok(true)
        }
        other => Err(other),
    }
}

/// Makes the paths of the rule files absolute: each session is judged in its own directory, but
/// the files are relative to the working directory of the command.
fn absolute(mut options: AgentOptions) -> AgentOptions {
    let environment = options.environment().clone();
    options.project.change_overrides(|settings| {
        let rules = settings.get_mut("guard").and_then(|guard| guard.get_mut("rules"));
        let Some(Value::Array(files)) = rules else { return };
        for file in files {
            let path = environment.expand(file.as_str().unwrap_or_default(), &environment.cwd);
            *file = Value::String(path.to_string_lossy().into_owned());
        }
    });
    options
}

struct Replay {
    /// Compares decisions with and without the given rules, instead of with the recorded results.
    compare_rules: bool,
    options: AgentOptions,
    /// Guards of the last directory, since the next session often has the same.
    guards: Option<Guards>,
    report: Report,
}

/// The guards of a working directory.
struct Guards {
    cwd: PathBuf,
    workspace: Workspace,
    now: Guard,
    /// The guard without the given rules.
    before: Option<Guard>,
    /// The directory does not exist any more, so there is no sandbox for it.
    gone: bool,
}

/// Name under which a command of the user is reported.
const USER_COMMAND: &str = "bash";

/// A recorded action.
struct Action<'a> {
    entry: &'a str,
    tool: &'a str,
    arguments: &'a Map<String, Value>,
    effects: &'a Effects,
    /// The action was taken by the user, not by the model.
    by_user: bool,
}

/// The recorded result of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    Ran,
    Refused,
    /// No result is recorded.
    Unknown,
}

impl Replay {
    /// Judges a session. Returns true if all of it could be read.
    fn session(&mut self, path: &Path) -> Result<bool, Failure> {
        let mut session = open(path)?;
        session.verify()?;
        for problem in session.damaged_lines() {
            let (path, at) = (path.display(), problem.offset);
            note(&format!("{path}: damaged at byte {at}: {}; skipped", problem.reason));
        }
        self.ready(session.cwd())?;
        let source = Source { id: session.id(), path, cwd: session.cwd() };
        self.report.begin();
        self.entries(&session, &source)?;
        Ok(session.damaged_lines().is_empty())
    }

    fn ready(&mut self, cwd: &Path) -> Result<(), GuardError> {
        if self.guards.as_ref().is_some_and(|guards| guards.cwd == cwd) {
            return Ok(());
        }
        let mut options = self.options.clone();
        options.project = options.project.in_directory(cwd);
        let now = load_guard(&options)?;
        let before = if self.compare_rules {
            options.project.change_overrides(|settings| {
                if let Some(Value::Object(guard)) = settings.get_mut("guard") {
                    guard.remove("rules");
                }
            });
            Some(load_guard(&options)?)
        } else {
            None
        };
        let home = options.environment().home.clone();
        let workspace = Workspace::new(Arc::new(Host::default()), cwd.to_owned(), home);
        let gone = !cwd.is_dir();
        self.guards = Some(Guards { cwd: cwd.to_owned(), workspace, now, before, gone });
        Ok(())
    }

    fn entries(&mut self, session: &Session, source: &Source<'_>) -> Result<(), Failure> {
        // Calls of the last message that have no result yet.
        let mut open: Vec<(String, ToolCall)> = Vec::new();
        for entry in session.entries() {
            let entry = entry?;
            let EntryBody::Message(message) = &entry.body else { continue };
            match message {
                AgentMessage::Llm(Message::Assistant(answer)) => {
                    for (id, call) in open.drain(..) {
                        self.call(source, &id, &call, Record::Unknown)?;
                    }
                    let calls = answer.tool_calls().filter(|call| is_judged(call));
                    open.extend(calls.map(|call| (entry.id.clone(), call.clone())));
                }
                AgentMessage::Llm(Message::ToolResult(result)) => {
                    let matches = |(_, call): &(String, ToolCall)| call.id == result.tool_call_id;
                    if let Some(at) = open.iter().position(matches) {
                        let (id, call) = open.swap_remove(at);
                        self.call(source, &id, &call, recorded(result))?;
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
                        self.judge(source, &action, Record::Ran)?;
                    }
                }
            }
        }
        for (id, call) in open {
            self.call(source, &id, &call, Record::Unknown)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        source: &Source<'_>,
        entry: &str,
        call: &ToolCall,
        record: Record,
    ) -> Result<(), Failure> {
        let (tool, arguments) = (call.name.as_str(), &call.arguments);
        let effects = &toolset::effects_of(tool, arguments);
        self.judge(source, &Action { entry, tool, arguments, effects, by_user: false }, record)
    }

    fn judge(
        &mut self,
        source: &Source<'_>,
        action: &Action<'_>,
        record: Record,
    ) -> Result<(), Failure> {
        let Some(guards) = &self.guards else { return Ok(()) };
        let (now, judgement) = guards.decide(&guards.now, action);
        let (old, differs) = match &guards.before {
            Some(before) => {
                let (old, _) = guards.decide(before, action);
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
            self.report.difference(source, action, [old, now], &judgement)?;
        }
        Ok(())
    }
}

impl Guards {
    /// Returns the decision of a guard on an action, and its judgement.
    fn decide(&self, guard: &Guard, action: &Action<'_>) -> (&'static str, Judgment) {
        if action.by_user {
            // Commands of the user count as approved.
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
        // Sandboxing is ignored: almost any rule changes it for many commands.
        let confined = judgement.outcome == Outcome::RunConfined;
        let allowed = self.gone && judgement.verdict.decision == Decision::Allow;
        (word(if allowed || confined { Outcome::Run } else { judgement.outcome }), judgement)
    }
}

/// Returns true for a call of a built-in tool that runs commands, writes files or connects.
fn is_judged(call: &ToolCall) -> bool {
    let effects = toolset::effects_of(&call.name, &call.arguments);
    !effects.undeclared && !effects.is_read_only() && call.arguments_error.is_none()
}

/// Derives the recorded result from the text of the tool result.
fn recorded(result: &ToolResultMessage) -> Record {
    let first = result.content.iter().find_map(UserBlock::as_text).unwrap_or_default();
    let refused = ["This is not allowed and was not run.", "This was not run:"];
    if result.is_error && refused.iter().any(|refused| first.starts_with(refused)) {
        Record::Refused
    } else {
        Record::Ran
    }
}

/// The session of an action.
struct Source<'a> {
    id: &'a str,
    path: &'a Path,
    cwd: &'a Path,
}

/// The output, written as differences are found.
struct Report {
    out: PlainWriter<BufWriter<std::io::StdoutLock<'static>>>,
    json: bool,
    /// The header of the current session has been written.
    named: bool,
    sessions: usize,
    count: usize,
    different: usize,
}

impl Report {
    fn new(json: bool) -> Result<Self, Failure> {
        let mut out = PlainWriter::new(BufWriter::new(std::io::stdout().lock()));
        if json {
            write!(out, "[")?;
        }
        Ok(Self { out, json, named: false, sessions: 0, count: 0, different: 0 })
    }

    /// Begins the next session.
    fn begin(&mut self) {
        self.named = false;
        self.sessions += 1;
    }

    fn difference(
        &mut self,
        source: &Source<'_>,
        action: &Action<'_>,
        [old, new]: [&str; 2],
        judgement: &Judgment,
    ) -> Result<(), Failure> {
        self.different += 1;
        let summary = action.effects.summary.as_ref();
        let what = summary.map(|summary| summary.text.as_str()).unwrap_or_default();
        if self.json {
            let mut difference = json!({
                "session": source.id,
                "path": source.path,
                "cwd": source.cwd,
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
            let cwd = source.cwd.display().to_string();
            writeln!(self.out, "{} in {}", source.id, text::one_line(&cwd))?;
        }
        let (entry, tool) = (text::line(action.entry, 40), text::line(action.tool, 40));
        let secrets = secrets::own();
        let what = text::line(&secrets.redact(what), SHOWN);
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
            note(&format!("{different} of {count} actions differ, in {sessions} sessions"));
        }
        Ok(())
    }
}
