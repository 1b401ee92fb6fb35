//! The tool `process`: lists, reads and stops background processes.
//!
//! The TypeScript pi has no such tool. It exists only in workspaces with [`BackgroundProcesses`].

use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_protocol::Effects;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::background::{BackgroundId, BackgroundInfo, BackgroundProcesses};
use crate::builtin::Builtin;
use crate::call;

/// The arguments of `process`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// list: show all background processes; output: show the last output of one process; stop: kill one process and everything it started
    action: Action,
    /// Number of the process, as returned by bash or by action list. Required for output and stop
    id: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Output,
    Stop,
}

/// `process` in the list of built-in tools, for workspaces with background processes.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "process",
    active_by_default: false,
    needs_background: true,
    build: |workspace| workspace.background().cloned().map(process),
    effects,
    output_schema: None,
};

/// The tool only affects processes that `bash` started in this session.
fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(action) = call::text(arguments, "action") else { return Effects::unknown() };
    let id = arguments.get("id").map(|id| format!(" {id}")).unwrap_or_default();
    Effects::none().summary(format!("{action}{id}"), true)
}

/// Creates the tool `process` for these background processes.
pub fn process(background: Arc<BackgroundProcesses>) -> FnTool {
    let description = "List background processes, read their output and stop them. Background processes are commands that bash started with background: true. They run until they are stopped or the session ends.";
    FnTool::typed("process", description, move |arguments: Arguments, _| {
        let background = Arc::clone(&background);
        async move { execute(&background, &arguments).await }
    })
    .effects(effects)
    .prompt_snippet("List, read and stop background processes")
    .prompt_guidelines([
        "Start servers and watchers with background: true in bash, not with &. Stop them with process when they are no longer needed.",
    ])
}

async fn execute(
    background: &BackgroundProcesses,
    arguments: &Arguments,
) -> Result<ToolOutput, ToolError> {
    if let Action::List = arguments.action {
        return Ok(list(&background.list()));
    }
    let number = arguments.id.ok_or_else(|| {
        ToolError::new(
            "id is required for this action. Use action list to see all background processes.",
        )
    })?;
    let unknown = || {
        ToolError::new(format!(
            "No background process has the id {number}. Use action list to see all background processes."
        ))
    };
    let id = BackgroundId::from_number(number).ok_or_else(unknown)?;
    if let Action::Stop = arguments.action
        && !background.stop(id).await
    {
        return Err(unknown());
    }
    let (info, output) = background.info(id).zip(background.output(id)).ok_or_else(unknown)?;
    if let Action::Stop = arguments.action {
        let text = format!("Process {id} {}.", info.state.describe());
        return Ok(ToolOutput::text(text).with_details(info.data()));
    }
    let mut text = match output.content.as_str() {
        "" => "(no output)",
        content => content,
    }
    .to_owned();
    let mut details = info.data();
    let mut notice = format!("Process {id} {}", info.state.describe());
    if output.truncated {
        let total = output.total_lines;
        notice = format!(
            "Showing lines {}-{total} of {total}. {notice}",
            total + 1 - output.output_lines
        );
        details["truncation"] = json!(output);
    }
    text.push_str(&format!("\n\n[{notice}]"));
    Ok(ToolOutput::text(text).with_details(details))
}

fn list(processes: &[BackgroundInfo]) -> ToolOutput {
    let line = |info: &BackgroundInfo| {
        let mut lines = info.command.lines();
        let first = lines.next().unwrap_or_default();
        let more = if lines.next().is_some() { " ..." } else { "" };
        format!("{} {}: {first}{more}", info.id, info.state.describe())
    };
    let text = match processes {
        [] => "No background processes".to_owned(),
        _ => processes.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    let details =
        json!({ "processes": processes.iter().map(BackgroundInfo::data).collect::<Vec<_>>() });
    ToolOutput::text(text).with_details(details)
}
