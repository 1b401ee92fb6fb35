//! Checks of the configuration: settings, trust, models, rules, resources and omissions.

use std::path::Path;

use pi_coding_agent::guard::{GuardError, GuardPlan, rules};
use pi_coding_agent::hooks::configured_hooks;
use pi_coding_agent::{AgentOptions, Omission, Project, find_omissions, initial_session_model};
use pi_config::needs_trust;
use pi_config::resources::{ResourceFlags, Resources};
use pi_config::settings::keys;
use pi_host::credentials::models_file;
use pi_models::ModelsFile;

use super::Finding;
use crate::commands::auth::wait;
use crate::flags::suggest;
use crate::hints::Hint as _;

const FIX_FILE: &str = "Fix the file, or move it away to start over; pi does not overwrite it.";

const NO_POLICY: &str = "Fix the file or remove it; no command runs without a valid policy.";

/// Checks the settings files for invalid, unknown and unused keys.
pub(super) fn settings(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "settings";
    let (environment, settings) = (project.environment(), project.store());
    let diagnostics = settings.diagnostics();
    let of_project = environment.project_directory().join("settings.json");
    let mut files = vec![environment.agent_directory.join("settings.json")];
    files.extend(settings.is_trusted().then_some(of_project));
    // The check of the rules reports the problem of the guard.
    let problems = || diagnostics.iter().chain(settings.guard_error());
    let whole = |path: &Path| problems().all(|one| one.path.as_deref() != Some(path));
    let mut findings: Vec<Finding> = files
        .iter()
        .filter(|path| path.exists() && whole(path))
        .map(|path| Finding::good(ABOUT, path.display().to_string()))
        .collect();
    findings.extend(diagnostics.iter().map(|one| Finding::from(ABOUT, one, FIX_FILE)));
    let idle: Vec<&str> = settings.keys_without_effect().iter().map(|key| key.name).collect();
    if !idle.is_empty() {
        let message = format!("without effect in this version: {}", idle.join(", "));
        let fix = "Nothing to do; they stay in the file for other versions of pi.";
        findings.push(Finding::warning(ABOUT, message, fix));
    }
    for name in settings.unknown_keys() {
        let near = suggest::nearest(name, keys().map(|key| key.name));
        let fix = near.map_or_else(
            || "Remove it unless another program uses it.".to_owned(),
            |near| format!("Did you mean `{near}`?"),
        );
        let message = format!("unknown setting `{name}`; it is kept and has no effect");
        findings.push(Finding::warning(ABOUT, message, fix));
    }
    findings
}

/// Checks whether the settings and resources of the project are used.
pub(super) fn trust(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "trust";
    let environment = project.environment();
    let cwd = environment.cwd.display();
    let problems = project.trust_problems().iter();
    let mut findings: Vec<Finding> =
        problems.map(|problem| Finding::from(ABOUT, problem, FIX_FILE)).collect();
    if !findings.is_empty() {
        return findings;
    }
    let needed = needs_trust(&environment.cwd, environment.home.as_deref());
    let options = AgentOptions::in_project(project.clone());
    findings.push(match find_omissions(&options).into_iter().find(is_untrusted) {
        Some(omission) if omission.is_deliberate() => Finding::good(ABOUT, omission.to_string()),
        Some(omission) => Finding::warning(
            ABOUT,
            omission.to_string(),
            "Review them, then run `pi trust add`, or use --approve for one run.",
        ),
        None if project.is_trusted() && needed => Finding::good(ABOUT, format!("{cwd} is trusted")),
        None => Finding::good(ABOUT, format!("{cwd} contains nothing that needs trust")),
    });
    findings
}

fn is_untrusted(omission: &Omission) -> bool {
    matches!(omission, Omission::UntrustedProject { .. })
}

/// Checks the configured MCP servers, without starting any.
pub(super) fn mcp_servers(project: &Project) -> Vec<Finding> {
    let problems = pi_config::mcp::load(project.environment(), project.is_trusted()).errors;
    let fix = "Fix mcp.json; `pi help topic:mcp` describes its format.";
    problems.iter().map(|problem| Finding::from("mcp", problem, fix)).collect()
}

/// Checks the user's providers and models.
pub(super) fn models(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "models";
    let path = models_file(&project.environment().agent_directory);
    let (file, problems) = ModelsFile::load(&path);
    let fix = "Fix models.json; `pi help topic:models` describes its format.";
    let mut findings: Vec<Finding> =
        problems.iter().map(|problem| Finding::from(ABOUT, problem, fix)).collect();
    if path.exists() && findings.is_empty() {
        let count = file.provider_ids().count();
        findings.push(Finding::good(ABOUT, format!("{count} providers in {}", path.display())));
    }
    findings
}

/// Checks that the model of a new session can be used.
pub(super) fn model(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "model";
    let options = AgentOptions::in_project(project.clone());
    // Every command that needs a runtime reports the same failure.
    let Ok(chosen) = wait(initial_session_model(&options)) else { return Vec::new() };
    match chosen {
        Ok((model, warnings)) => {
            let fix = "Change defaultProvider and defaultModel in settings.json.";
            let warnings = warnings.iter().map(|one| Finding::from(ABOUT, one, fix));
            let name = |model: &pi_ai::Model| format!("{}/{}", model.provider, model.id);
            let model = model.map(|model| Finding::good(ABOUT, name(&model)));
            model.into_iter().chain(warnings).collect()
        }
        Err(error) => {
            let fix = error.hint().unwrap_or_default();
            vec![Finding::error(ABOUT, error.to_string(), sentence(&fix))]
        }
    }
}

/// Writes a hint as a sentence.
fn sentence(hint: &str) -> String {
    let mut letters = hint.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.map(|first| format!("{first}{}.", letters.as_str())).unwrap_or_default()
}

/// Lists the hooks and guardrails, and checks that their scripts exist.
pub(super) fn hooks(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "hooks";
    let hooks = configured_hooks(project.store());
    let guardrails = project.settings().guardrails.as_ref().map_or(0, Vec::len);
    if hooks.is_empty() && guardrails == 0 {
        return Vec::new();
    }
    let missing = |command: &str| {
        let program = command.split_whitespace().next()?;
        let is_path = program.starts_with('/') || program.starts_with("./");
        let exists = project.environment().cwd.join(program).exists();
        (is_path && !exists).then(|| program.to_owned())
    };
    let mut findings = Vec::new();
    for (owner, hook) in &hooks {
        let event = hook.event.name();
        findings.push(match missing(&hook.command) {
            Some(program) => {
                let message = format!("{event} ({owner}): {program} does not exist");
                Finding::error(ABOUT, message, "Create the program, or correct the settings.")
            }
            None => Finding::good(ABOUT, format!("{event} ({owner}): {}", hook.name)),
        });
    }
    if guardrails > 0 {
        findings.push(Finding::good(ABOUT, format!("{guardrails} guardrails")));
    }
    findings
}

/// Checks the rule files that a session in this directory would load.
pub(super) fn rules(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "rules";
    let environment = project.environment();
    if let Some(problem) = project.store().guard_error() {
        let message = GuardError::Settings(problem.clone()).to_string();
        return vec![Finding::error(ABOUT, message, NO_POLICY)];
    }
    let plan = GuardPlan::new(project.settings(), environment);
    let loaded = rules::load(environment, project.is_trusted(), &plan.rules);
    vec![match loaded {
        Ok(_) => {
            let message = format!("profile {}; all rule files are valid", plan.profile.as_str());
            Finding::good(ABOUT, message)
        }
        Err(error) => Finding::error(
            ABOUT,
            GuardError::from(error).to_string(),
            format!("{NO_POLICY} Check a file with `pi policy test FILE`."),
        ),
    }]
}

/// Checks context files, skills, prompts and additions to the system prompt.
pub(super) fn resources(project: &Project) -> Vec<Finding> {
    const ABOUT: &str = "resources";
    let found = Resources::of(project, &ResourceFlags::default());
    let fix = "Fix or remove the file; until then, its valid parts are used.";
    let mut findings: Vec<Finding> =
        found.diagnostics.iter().map(|one| Finding::from(ABOUT, one, fix)).collect();
    let (files, skills, prompts) =
        (found.context_files.len(), found.skills.len(), found.prompts.len());
    let message = format!("{files} context files, {skills} skills, {prompts} prompts");
    findings.push(Finding::good(ABOUT, message));
    findings
}
