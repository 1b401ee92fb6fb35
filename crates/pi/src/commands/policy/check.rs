//! `pi policy check`: shows the decision on a command, a file, a host or a tool call.

use std::io::{BufWriter, Write as _};
use std::sync::Arc;

use pi_coding_agent::guard::{Call, Guard, Judgment, Outcome, ToolOrigin};
use pi_coding_agent::{Environment, load_guard};
use pi_config::settings::ApprovalPolicy;
use pi_guard::policy::PathAccess;
use pi_guard::shell::quoted;
use pi_tools::{Host, Workspace, toolset};
use serde_json::{Map, Value};

use super::plain::PlainWriter;
use super::{CommandResult, Failure, options, project, reason, word};
use crate::exit::Exit;
use crate::flags::parse::CommandArgs;

/// The subject of the decision.
enum Subject {
    Command(String),
    File(String, PathAccess),
    Host(String),
    Call(String, Map<String, Value>),
}

pub(in crate::commands) fn check(args: &CommandArgs) -> CommandResult {
    let subject = subject(args)?;
    let options = options(args, project::open(args)?)?;
    let environment = options.environment();
    let guard = load_guard(&options)?;
    let judgement = match &subject {
        Subject::Command(script) => guard.judge_command(script),
        Subject::File(path, reach) => {
            guard.judge_path(&environment.expand(path, &environment.cwd), *reach)
        }
        Subject::Host(host) => guard.judge_host(host),
        Subject::Call(tool, arguments) => call(&guard, environment, tool, arguments),
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        serde_json::to_writer_pretty(&mut out, &judgement)?;
        writeln!(out)?;
    } else {
        let mut out = PlainWriter::new(&mut out);
        let outcome = match (&subject, judgement.outcome) {
            // Only commands run in or outside the sandbox.
            (Subject::File(..), Outcome::RunConfined) => Outcome::Run,
            (_, outcome) => outcome,
        };
        let (word, reason) = (word(outcome), reason(&judgement));
        writeln!(out, "{word}: {reason}{}", if_unattended(&judgement))?;
        if args.has("explain") {
            explain(&judgement, &guard, &subject, &mut out)?;
        }
    }
    out.flush()?;
    let allowed = matches!(judgement.outcome, Outcome::Run | Outcome::RunConfined);
    Ok(if allowed { Exit::Completed } else { Exit::Failed }.into())
}

fn subject(args: &CommandArgs) -> Result<Subject, Failure> {
    let usage = |text: &str| Err(Failure::usage(text.to_owned()));
    let mut subjects = Vec::new();
    match args.words.as_slice() {
        [] => {}
        [script] => subjects.push(Subject::Command(script.clone())),
        words => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            subjects.push(Subject::Command(words.join(" ")));
        }
    }
    if let Some(path) = args.value("path") {
        let reading = args.value("access") == Some("read");
        let reach = if reading { PathAccess::Read } else { PathAccess::Write };
        subjects.push(Subject::File(path.to_owned(), reach));
    } else if args.has("access") {
        return usage("--access requires --path");
    }
    if let Some(host) = args.value("host") {
        subjects.push(Subject::Host(host.to_owned()));
    }
    if let Some(tool) = args.value("tool") {
        let arguments = args.value("arguments").unwrap_or("{}");
        let wrong = |error| Failure::usage(format!("--arguments is not a JSON object: {error}"));
        let arguments = serde_json::from_str(arguments).map_err(wrong)?;
        subjects.push(Subject::Call(tool.to_owned(), arguments));
    } else if args.has("arguments") {
        return usage("--arguments requires --tool");
    }
    match (subjects.pop(), subjects.is_empty()) {
        (Some(subject), true) => Ok(subject),
        _ => usage("expected exactly one of -- COMMAND..., --path, --host and --tool"),
    }
}

fn call(
    guard: &Guard,
    environment: &Environment,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Judgment {
    let (cwd, home) = (environment.cwd.clone(), environment.home.clone());
    let workspace = Workspace::new(Arc::new(Host::default()), cwd, home);
    let origin = match toolset::find_builtin(tool) {
        Some(_) => ToolOrigin::Builtin,
        None => ToolOrigin::External,
    };
    let effects = toolset::effects_of(tool, arguments);
    guard.judge(Call { tool, arguments, effects: &effects, origin }, &workspace)
}

/// Describes the outcome in a mode that cannot ask.
fn if_unattended(judgement: &Judgment) -> &'static str {
    match judgement.outcome {
        Outcome::Ask => "; refused if no one can be asked",
        Outcome::Run | Outcome::RunConfined | Outcome::Refuse => "",
    }
}

/// Prints the decision on every part, and the effect of the judgement.
fn explain(
    judgement: &Judgment,
    guard: &Guard,
    subject: &Subject,
    out: &mut impl std::io::Write,
) -> std::io::Result<()> {
    for part in judgement.verdict.explain().lines().skip(1) {
        writeln!(out, "{part}")?;
    }
    let level = guard.confined().map(|confined| confined.level());
    let sandbox = match level {
        Some(level) => format!("in the sandbox: {} ({level})", guard.plan().sandbox.as_str()),
        None => "in the sandbox, because its effects cannot be determined".to_owned(),
    };
    let is_command = matches!(subject, Subject::Command(_));
    let approved = match judgement.verdict.confined {
        _ if level.is_none() || !is_command => String::new(),
        true => format!("; if approved, it runs {sandbox}"),
        false => "; if approved, it runs without the sandbox".to_owned(),
    };
    let effect = match judgement.outcome {
        Outcome::Refuse => "it is refused".to_owned(),
        Outcome::Ask if guard.plan().approval == ApprovalPolicy::Review => {
            format!("a model decides{approved}")
        }
        Outcome::Ask => format!("you are asked{approved}"),
        Outcome::Run | Outcome::RunConfined if !is_command => return Ok(()),
        Outcome::RunConfined => format!("it runs {sandbox}"),
        Outcome::Run => "it runs without a sandbox".to_owned(),
    };
    writeln!(out, "  {effect}")
}
