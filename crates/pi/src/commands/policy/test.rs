//! `pi policy test`: loads rule files and checks their examples.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use pi_base::text;
use pi_coding_agent::Environment;
use pi_coding_agent::guard::RulesError;
use pi_coding_agent::guard::rules::{self, DIRECTORY};
use pi_guard::policy::{Layer, RuleFile};
use serde_json::{Value, json};

use super::{CommandResult, Failure};
use crate::environment;
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn test(args: &CommandArgs) -> CommandResult {
    let environment = environment::read().map_err(Failure::failed)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut list, mut failed) = (Vec::new(), false);
    for name in &args.words {
        let path = environment.expand(name, &environment.cwd);
        let loaded = rules::read(&path, layer(&path, &environment));
        failed |= loaded.is_err();
        if args.has("json") {
            list.push(to_json(name, &loaded));
            continue;
        }
        match loaded {
            Ok(file) => writeln!(out, "{}: {}", text::one_line(name), describe(&file))?,
            Err(error) => {
                // Keeps stdout and stderr in the order of the files.
                out.flush()?;
                note(&error.to_string());
            }
        }
    }
    if args.has("json") {
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    }
    out.flush()?;
    Ok(if failed { Exit::Failed } else { Exit::Completed }.into())
}

/// Returns the layer of a rule file; rules of a project may do less than those of the user.
fn layer(path: &Path, environment: &Environment) -> Layer {
    let of_project = environment.project_directory().join(DIRECTORY);
    if path.parent() == Some(&of_project) { Layer::Project } else { Layer::Run }
}

fn describe(file: &RuleFile) -> String {
    let counts = [
        (file.commands.len(), "command"),
        (file.paths.len(), "path"),
        (file.hosts.len(), "host"),
        (file.tools.len(), "tool"),
    ];
    let rules: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind} rule{}", if *count == 1 { "" } else { "s" }))
        .collect();
    let rules = if rules.is_empty() { "no rules".to_owned() } else { rules.join(", ") };
    match file.examples {
        0 => format!("{rules}; no examples"),
        1 => format!("{rules}; 1 example passed"),
        count => format!("{rules}; {count} examples passed"),
    }
}

fn to_json(name: &str, loaded: &Result<RuleFile, RulesError>) -> Value {
    match loaded {
        Ok(file) => json!({
            "file": name,
            "commands": file.commands.len(),
            "paths": file.paths.len(),
            "hosts": file.hosts.len(),
            "tools": file.tools.len(),
            "executables": file.executables.len(),
            "unanalysable": file.unknown_effects,
            "examples": file.examples,
        }),
        Err(RulesError::Invalid(error)) => {
            json!({ "file": name, "line": error.line, "error": error.message })
        }
        Err(error) => json!({ "file": name, "error": error.to_string() }),
    }
}
