//! `pi hooks`: lists hooks and guardrails, and runs hooks on a sample.

use std::fmt::Write as _;

use pi_agent::CancelToken;
use pi_base::text;
use pi_coding_agent::AgentOptions;
use pi_coding_agent::hooks::{HookEvent, HookResult, Hooks, configured_hooks};
use pi_tools::supervisor::Supervisor;
use serde_json::{Map, Value, json};

use super::{CommandResult, Failure, project};
use crate::exit::{Exit, note, print};
use crate::flags::parse::CommandArgs;

/// Lists the hooks and guardrails of this directory.
pub(super) fn list(args: &CommandArgs) -> CommandResult {
    let options = options(args)?;
    let hooks = configured_hooks(options.project.store());
    let guardrails = options.project.settings().guardrails.clone().unwrap_or_default();
    if args.has("json") {
        let hooks = hooks.iter().map(|(origin, hook)| {
            json!({
                "event": hook.event, "matcher": hook.pattern(), "name": hook.name,
                "command": hook.command, "timeout": hook.timeout.as_secs_f64(), "settings": origin,
            })
        });
        let list = json!({ "hooks": hooks.collect::<Vec<_>>(), "guardrails": guardrails });
        return Ok(print(&format!("{list:#}\n")));
    }
    let mut text = String::new();
    for (origin, hook) in &hooks {
        let matcher = match hook.pattern() {
            "" => String::new(),
            pattern => format!(" ({pattern})"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}{matcher}: {}  [{origin}, at most {} s]",
            hook.event.name(),
            text::one_line(&hook.command),
            hook.timeout.as_secs_f64()
        );
    }
    for guardrail in &guardrails {
        let plan = guardrail.plan();
        let action = json!(plan.action);
        let action = action.as_str().unwrap_or_default();
        let name = text::one_line(&plan.name);
        let _ = writeln!(text, "guardrail {name}: {action} on {}", plan.on.name());
    }
    let printed = print(&text);
    if text.is_empty() {
        note("no hooks and no guardrails are configured");
    }
    Ok(printed)
}

/// Runs the hooks of an event on a sample.
pub(super) fn test(args: &CommandArgs) -> CommandResult {
    let mut options = options(args)?;
    options.tools.supervisor = cfg!(target_os = "linux").then(Supervisor::this_program);
    let name = args.word(0).unwrap_or_default();
    let event = HookEvent::find(name).ok_or_else(|| {
        let known: Vec<&str> = HookEvent::ALL.iter().map(|event| event.name()).collect();
        Failure::usage(format!("there is no event \"{name}\"")).hint(known.join(", "))
    })?;
    let input = match args.value("input") {
        None => Map::new(),
        Some(file) => read_input(file)?,
    };
    let fields = ["tool_name", "agent_name", "notification_type", "trigger", "reason", "source"];
    let given = fields.into_iter().find_map(|field| input.get(field).and_then(Value::as_str));
    let subject = args.value("matches").or(given).unwrap_or_default().to_owned();
    let hooks = Hooks::of(&options)?;
    let Some(hooks) = hooks else {
        return Err(Failure::failed("no hooks are configured"));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(hooks.run(event, &subject, input, &CancelToken::new()));
    let printed = print(&describe(&result));
    let exit = if result.block.is_some() || result.stop.is_some() {
        Exit::Guardrail
    } else if result.failures.is_empty() {
        return Ok(printed);
    } else {
        Exit::Failed
    };
    Ok(exit.into())
}

fn options(args: &CommandArgs) -> Result<AgentOptions, Failure> {
    let project = project::open(args)?;
    match project.store().guard_error() {
        Some(problem) => Err(Failure::configuration(problem.to_string())),
        None => Ok(AgentOptions::in_project(project)),
    }
}

fn read_input(file: &str) -> Result<Map<String, Value>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::failed(format!("cannot read {file}: {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::failed(format!("{file} is not a JSON object: {error}")))
}

/// Describes what the hooks decided, one line each.
fn describe(result: &HookResult) -> String {
    let mut lines: Vec<String> = result.ran.iter().map(|hook| format!("ran: {hook}")).collect();
    let failures = result.failures.iter();
    lines.extend(failures.map(|failure| format!("failed: {}: {}", failure.hook, failure.error)));
    if let Some((report, input)) = &result.updated_input {
        lines.push(format!("changed by {}: {input}", report.hook));
    }
    if let Some((report, output)) = &result.updated_output {
        lines.push(format!("changed by {}: {output}", report.hook));
    }
    lines.extend(result.context.iter().map(|text| format!("context: {text}")));
    lines.extend(result.messages.iter().map(|text| format!("message: {text}")));
    for (decision, report) in
        [("ask", &result.ask), ("block", &result.block), ("stop", &result.stop)]
    {
        if let Some(report) = report {
            lines.push(format!("decision: {decision} by {}: {}", report.hook, report.reason));
        }
    }
    if result.ran.is_empty() {
        lines.push("no hook matches".to_owned());
    } else if result.ask.is_none() && result.block.is_none() && result.stop.is_none() {
        lines.push("decision: none; the event passes".to_owned());
    }
    let plain = lines.iter().map(|text| text::one_line(text));
    plain.map(|line| line + "\n").collect()
}
