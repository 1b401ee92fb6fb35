//! `pi agents`: lists, shows and checks agent specs.

use std::io::{BufWriter, Write as _};

use pi_base::text::line;
use pi_converge::agents::{AgentLibrary, AgentSet, AgentSpec};
use pi_tools::toolset::BUILTIN_TOOLS;
use serde_json::json;

use super::{CommandResult, Failure, project, success};
use crate::exit::note;
use crate::flags::parse::CommandArgs;

pub(super) fn list(args: &CommandArgs) -> CommandResult {
    let library = AgentLibrary::of(&project::open(args)?);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut listed = Vec::new();
    for agent in library.list() {
        let (description, problem) = match library.load_file(&agent.file) {
            Ok(set) => (set.root().and_then(|spec| spec.description.clone()), None),
            Err(error) => (None, Some(error.to_string())),
        };
        if args.has("json") {
            listed.push(json!({
                "name": agent.name, "file": agent.file, "description": description,
                "problem": problem,
            }));
            continue;
        }
        let text = match &problem {
            Some(problem) => format!("invalid: {problem}"),
            None => description.unwrap_or_default(),
        };
        writeln!(out, "{:<20}  {}", line(&agent.name, 20), line(&text, 100))?;
    }
    if args.has("json") {
        serde_json::to_writer_pretty(&mut out, &listed)?;
        writeln!(out)?;
    } else if library.list().is_empty() {
        note("no agents are installed; see `pi help topic:agents`");
    }
    out.flush()?;
    Ok(success())
}

pub(super) fn show(args: &CommandArgs) -> CommandResult {
    let set = load(args)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if let Some(spec) = set.root() {
        serde_json::to_writer_pretty(&mut out, &**spec)?;
        writeln!(out)?;
    }
    out.flush()?;
    Ok(success())
}

pub(super) fn check(args: &CommandArgs) -> CommandResult {
    let set = load(args)?;
    let mut warnings: Vec<String> = set.warnings().iter().map(ToString::to_string).collect();
    for spec in set.specs() {
        warnings.extend(unknown_tools(spec));
    }
    for warning in &warnings {
        note(&format!("warning: {warning}"));
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    for spec in set.specs() {
        writeln!(out, "{}: valid ({})", spec.name, spec.file.display())?;
    }
    out.flush()?;
    Ok(success())
}

/// Returns warnings about tools that only an extension or an MCP server can provide.
fn unknown_tools(spec: &AgentSpec) -> Vec<String> {
    let is_known = |name: &&String| {
        let own = [pi_converge::agents::TASK_TOOL, pi_converge::agents::HANDOFF_TOOL];
        name.contains('*')
            || own.contains(&name.as_str())
            || BUILTIN_TOOLS.iter().any(|tool| tool.name == **name)
    };
    let unknown = spec.tools.iter().flatten().filter(|name| !is_known(name));
    unknown
        .map(|name| {
            format!(
                "{}: {name} is not a built-in tool; an extension has to provide it",
                spec.file.display()
            )
        })
        .collect()
}

fn load(args: &CommandArgs) -> Result<AgentSet, Failure> {
    let project = project::open(args)?;
    let reference = args.word(0).unwrap_or_default();
    let loaded = AgentLibrary::of(&project).load(reference, &project.environment().cwd);
    loaded.map_err(|error| Failure::usage(error.to_string()))
}
