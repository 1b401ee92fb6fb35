//! `pi __complete KIND PREFIX`: candidates for the completions of a shell, one per line, each with
//! its description after a tab.
//!
//! Runs at every press of the tab key, so it uses no network, starts no process and reports no
//! problems.

use std::process::ExitCode;
use std::sync::Arc;

use pi_base::text;
use pi_coding_agent::{Environment, Project, session_index};
use pi_config::settings::SettingsCatalog;
use pi_config::{AuthStore, resolve_session_directory};
use pi_host::sessions::{ShortIds, title};
use pi_models::{ModelRegistry, ModelsFile};
use pi_session::ListOptions;
use pi_tools::toolset::BUILTIN_TOOLS;

use crate::exit::{Exit, print};

/// Name of the command, which no table lists.
pub(crate) const NAME: &str = "__complete";

/// A completed word and its description.
type Candidate = (String, String);

/// Prints the candidates of a kind that begin with `prefix`.
pub(crate) fn run(kind: &str, prefix: &str) -> ExitCode {
    let Ok(environment) = crate::environment::read() else { return Exit::Failed.into() };
    let candidates = match kind {
        "sessions" => sessions(&environment, prefix),
        "models" => models(&registry(environment), prefix),
        "providers" => providers(&registry(environment)),
        "tools" => tools(prefix),
        "settings" => settings(),
        _ => return Exit::Usage.into(),
    };
    let mut text = String::new();
    for (value, about) in candidates.iter().filter(|(value, _)| value.starts_with(prefix)) {
        text.push_str(&format!("{}\t{}\n", text::one_line(value), text::line(about, 60)));
    }
    print(&text)
}

/// Returns the sessions of the working directory, newest first; those of all directories if it has
/// none. Their short ids are ends of ids; a beginning of an id is completed to the whole id.
fn sessions(environment: &Environment, prefix: &str) -> Vec<Candidate> {
    // A shell that completes a word shows no warnings.
    let project = Project::open(environment.clone());
    let place = resolve_session_directory(environment, None, project.store());
    let mut index = session_index(environment, place.shared.then_some(&place.path));
    let all = index.list(&ListOptions::default()).sessions;
    let short = ShortIds::new(all.iter().map(|session| session.id.clone()).collect());
    let is_here = |cwd: &str| std::path::Path::new(cwd) == environment.cwd;
    let any_here = all.iter().any(|session| is_here(&session.cwd));
    let shown = all.iter().filter(|session| !any_here || is_here(&session.cwd));
    let value = |id: &str| {
        let short = short.of(id);
        let is_begun = !prefix.is_empty() && id.starts_with(prefix) && !short.starts_with(prefix);
        if is_begun { id.to_owned() } else { short }
    };
    shown.map(|session| (value(&session.id), title(session, 60))).collect()
}

fn registry(environment: Environment) -> ModelRegistry {
    let (file, _) = ModelsFile::load(&environment.agent_directory.join("models.json"));
    let auth = AuthStore::new(&environment.agent_directory);
    ModelRegistry::new(environment, file, Arc::new(auth))
}

/// Returns the models with credentials, as `provider/id`; also as an id, if the prefix begins one.
fn models(registry: &ModelRegistry, prefix: &str) -> Vec<Candidate> {
    let available = registry.available();
    let named = available.iter().map(|model| (format!("{}/{}", model.provider, model.id), model));
    let mut candidates: Vec<Candidate> =
        named.map(|(name, model)| (name, model.name.clone())).collect();
    if !prefix.is_empty() {
        let ids = available.iter().filter(|model| model.id.starts_with(prefix));
        candidates.extend(ids.map(|model| (model.id.clone(), model.name.clone())));
    }
    candidates
}

fn providers(registry: &ModelRegistry) -> Vec<Candidate> {
    let models = registry.models();
    models.providers().map(|provider| (provider.to_owned(), String::new())).collect()
}

/// Returns the tools as the last entry of a list, after the entries that the prefix has.
fn tools(prefix: &str) -> Vec<Candidate> {
    let before = prefix.rfind(',').map_or("", |comma| &prefix[..=comma]);
    let sign = match prefix[before.len()..].chars().next() {
        Some(sign @ ('+' | '-')) => sign.to_string(),
        _ => String::new(),
    };
    let name = |tool: &str| format!("{before}{sign}{tool}");
    BUILTIN_TOOLS.iter().map(|tool| (name(tool.name), String::new())).collect()
}

fn settings() -> Vec<Candidate> {
    let settings = SettingsCatalog::new().settings();
    settings.into_iter().map(|setting| (setting.key(), setting.description)).collect()
}
