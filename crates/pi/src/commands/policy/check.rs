//! `pi policy check`: what would happen.

use std::io::{BufWriter, Write as _};
use std::sync::Arc;

use pi_coding_agent::config::settings::ApprovalPolicy;
use pi_coding_agent::guard::{Call, Guard, Judgment, Outcome, ToolOrigin};
use pi_coding_agent::{Environment, load_guard};
use pi_guard::policy::PathAccess;
use pi_guard::shell::quoted;
use pi_tools::{Host, Workspace, toolset};
use serde_json::{Map, Value};

use super::plain::Plain;
use super::{Done, Failure, options, reason, word};
use crate::environment;
use crate::exit::Exit;
use crate::flags::parse::Given;

/// What is asked about.
enum Subject {
    Command(String),
    File(String, PathAccess),
    Host(String),
    Call(String, Map<String, Value>),
}

pub(in crate::commands) fn check(given: &Given) -> Done {
    let subject = subject(given)?;
    let environment = environment::read().map_err(Failure::Failed)?;
    let guard = load_guard(&options(given, &environment)?)?;
    let judgement = match &subject {
        Subject::Command(script) => guard.judge_command(script),
        Subject::File(path, reach) => {
            guard.judge_path(&environment.expand(path, &environment.cwd), *reach)
        }
        Subject::Host(host) => guard.judge_host(host),
        Subject::Call(tool, arguments) => call(&guard, &environment, tool, arguments),
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    if given.has("json") {
        serde_json::to_writer_pretty(&mut out, &judgement)?;
        writeln!(out)?;
    } else {
        let mut out = Plain::new(&mut out);
        writeln!(out, "{}: {}{}", word(judgement.outcome), reason(&judgement), alone(&judgement))?;
        if given.has("explain") {
            explain(&judgement, &guard, &subject, &mut out)?;
        }
    }
    out.flush()?;
    let allowed = matches!(judgement.outcome, Outcome::Run | Outcome::RunConfined);
    Ok(if allowed { Exit::Success } else { Exit::Failed }.into())
}

fn subject(given: &Given) -> Result<Subject, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    let mut subjects = Vec::new();
    match given.words.as_slice() {
        [] => {}
        [script] => subjects.push(Subject::Command(script.clone())),
        words => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            subjects.push(Subject::Command(words.join(" ")));
        }
    }
    if let Some(path) = given.value("path") {
        let reading = given.value("access") == Some("read");
        let reach = if reading { PathAccess::Read } else { PathAccess::Write };
        subjects.push(Subject::File(path.to_owned(), reach));
    } else if given.has("access") {
        return usage("--access needs --path");
    }
    if let Some(host) = given.value("host") {
        subjects.push(Subject::Host(host.to_owned()));
    }
    if let Some(tool) = given.value("tool") {
        let arguments = given.value("arguments").unwrap_or("{}");
        let wrong = |error| Failure::Usage(format!("--arguments is no JSON object: {error}"));
        let arguments = serde_json::from_str(arguments).map_err(wrong)?;
        subjects.push(Subject::Call(tool.to_owned(), arguments));
    } else if given.has("arguments") {
        return usage("--arguments needs --tool");
    }
    match (subjects.pop(), subjects.is_empty()) {
        (Some(subject), true) => Ok(subject),
        _ => usage("name one thing: -- COMMAND..., --path, --host or --tool"),
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

/// What happens to a question that nobody hears.
fn alone(judgement: &Judgment) -> &'static str {
    match judgement.outcome {
        Outcome::Ask => "; where nobody can be asked, it is refused",
        Outcome::Run | Outcome::RunConfined | Outcome::Refuse => "",
    }
}

/// Every part, and where it would run.
fn explain(
    judgement: &Judgment,
    guard: &Guard,
    subject: &Subject,
    out: &mut impl std::io::Write,
) -> std::io::Result<()> {
    for part in judgement.verdict.explain().lines().skip(1) {
        writeln!(out, "{part}")?;
    }
    let confined = guard.confined();
    let place = match (judgement.outcome, &confined) {
        (Outcome::Refuse, _) => "it does not happen".to_owned(),
        (Outcome::Ask, _) if guard.plan().approval == ApprovalPolicy::Review => {
            "a model is asked".to_owned()
        }
        (Outcome::Ask, _) => "you are asked".to_owned(),
        // Only commands run somewhere.
        _ if !matches!(subject, Subject::Command(_)) => return Ok(()),
        (Outcome::RunConfined, _) => {
            "it runs in the sandbox, although others do not: nobody knows all of what it does"
                .to_owned()
        }
        (Outcome::Run, Some(confined)) => {
            format!(
                "it runs in the sandbox: {} ({})",
                guard.plan().sandbox.as_str(),
                confined.level()
            )
        }
        (Outcome::Run, None) => "it runs with all your rights".to_owned(),
    };
    writeln!(out, "  {place}")
}
