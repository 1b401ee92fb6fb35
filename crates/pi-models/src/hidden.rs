//! Paths that neither commands nor tools can read: where this program and others keep keys.
//!
//! In the agent directory, everything is hidden that the work of an agent does not need: what is
//! added to it later, by this program or another one, is hidden without being known here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::secrets::has_server_secrets;
use pi_config::{Environment, Settings};
use pi_guard::confine::credential_paths;

/// What models and commands need of the agent directory: resources with their scripts, sessions and
/// runs, and settings that are no secrets. Other programs of the user may be in `bin` and `hooks`.
const VISIBLE: &[&str] = &[
    "agents",
    "bin",
    "cache",
    "extensions",
    "git",
    "hooks",
    "keybindings.json",
    "npm",
    "packages",
    "prompts",
    "rules",
    "runs",
    "scripts",
    "sessions",
    "settings.json",
    "skills",
    "themes",
    "tmp",
    "trust.json",
];

/// Files with keys, which stay hidden if a command names them.
const KEYS: &[&str] = &["auth.json", "mcp-auth.json", "mcp.json", "models.json"];

/// Returns the paths that are hidden by default.
pub fn hidden_paths(settings: &Settings, environment: &Environment) -> Vec<PathBuf> {
    let (home, cwd) = (environment.home.as_deref(), environment.cwd.as_path());
    let mut paths = credential_paths(home, cwd);
    paths.extend(in_agent_directory(settings, &environment.agent_directory, cwd));
    // Hiding a file of the project has a price: git takes it for a changed one.
    let project = [environment.project_directory().join("mcp.json"), cwd.join(".mcp.json")];
    paths.extend(project.into_iter().filter(|path| has_server_secrets(path)));
    paths
}

fn in_agent_directory(settings: &Settings, directory: &Path, cwd: &Path) -> Vec<PathBuf> {
    let commands = commands(settings, directory);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut hidden: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let is_text = Path::new(&name).extension().is_some_and(|extension| extension == "md");
            let is_named = |name: &str| {
                let name = format!("/{name}");
                !KEYS.contains(&&name[1..]) && commands.iter().any(|text| text.contains(&name))
            };
            let is_visible = VISIBLE.iter().any(|visible| name == *visible);
            !is_text && !is_visible && !name.to_str().is_some_and(is_named)
        })
        .map(|entry| entry.path())
        // Commands could not work in it.
        .filter(|path| !cwd.starts_with(path))
        .collect();
    // A sign-in during the session creates this file. A path that does not exist costs each command
    // time, and below `/tmp` the files that appear beside it, so it is listed only if it may appear.
    let tokens = directory.join("mcp-auth.json");
    let may_appear = directory.join("mcp.json").exists() && !directory.starts_with("/tmp");
    if may_appear && !tokens.exists() {
        hidden.push(tokens);
    }
    hidden.sort();
    hidden
}

/// Returns the texts that name the programs of hooks, guardrails and MCP servers, which run in the
/// sandbox and must be readable there.
fn commands(settings: &Settings, directory: &Path) -> Vec<String> {
    let hooks = settings.hooks.iter().flat_map(|group| &group.0).map(|hook| hook.command.clone());
    let guardrails = settings.guardrails.iter().flatten();
    let guardrails = guardrails.filter_map(|guardrail| guardrail.plan().command.clone());
    let servers = fs::read_to_string(directory.join("mcp.json")).ok();
    hooks.chain(guardrails).chain(servers).collect()
}
