//! Checks of the configuration: settings, trust, models, rules and resources.

use std::path::Path;

use pi_coding_agent::config::settings::KEYS;
use pi_coding_agent::config::{SettingsStore, Trust, TrustQuestion, TrustStore, needs_trust};
use pi_coding_agent::guard::{GuardPlan, rules};
use pi_coding_agent::models::ModelsFile;
use pi_coding_agent::resources::ResourceFlags;
use pi_coding_agent::{Diagnostic, Environment, load_resources};

use super::Finding;
use crate::commands::credentials::models_file;
use crate::flags::suggest;

const FIX_FILE: &str = "Fix the file, or move it away to start over; pi does not overwrite it.";

/// Loads the settings of an agent in this directory.
pub(super) fn load(environment: &Environment) -> SettingsStore {
    let mut settings = SettingsStore::load(environment, false);
    let trusted = decide(environment, &settings).is_ok_and(|trust| trust == Trust::Trusted);
    settings.set_trusted(trusted);
    settings
}

fn decide(environment: &Environment, settings: &SettingsStore) -> Result<Trust, Diagnostic> {
    let saved = TrustStore::new(&environment.agent_directory).find(&environment.cwd);
    let saved = saved.map_err(|error| error.diagnostic())?;
    let question = TrustQuestion {
        needed: needs_trust(&environment.cwd, environment.home.as_deref()),
        saved: saved.map(|entry| entry.trusted),
        default: settings.settings().default_project_trust(),
        ..TrustQuestion::default()
    };
    Ok(question.decide())
}

/// Checks the settings files for invalid, unknown and unused keys.
pub(super) fn settings(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "settings";
    let settings = load(environment);
    let diagnostics = settings.diagnostics();
    let of_project = environment.project_directory().join("settings.json");
    let mut files = vec![environment.agent_directory.join("settings.json")];
    files.extend(settings.is_trusted().then_some(of_project));
    let whole = |path: &Path| diagnostics.iter().all(|one| one.path.as_deref() != Some(path));
    let mut findings: Vec<Finding> = files
        .iter()
        .filter(|path| path.exists() && whole(path))
        .map(|path| Finding::good(ABOUT, path.display().to_string()))
        .collect();
    findings.extend(diagnostics.iter().map(|one| Finding::from(ABOUT, one, FIX_FILE)));
    let idle: Vec<&str> = settings.keys_without_effect().iter().map(|key| key.name).collect();
    if !idle.is_empty() {
        let message = format!("kept, but not used by this version: {}", idle.join(", "));
        findings.push(Finding::good(ABOUT, message));
    }
    for name in settings.unknown_keys() {
        let near = suggest::nearest(name, KEYS.iter().map(|key| key.name));
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
pub(super) fn trust(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "trust";
    let settings = SettingsStore::load(environment, false);
    let cwd = environment.cwd.display();
    let needed = needs_trust(&environment.cwd, environment.home.as_deref());
    vec![match decide(environment, &settings) {
        Err(problem) => Finding::from(ABOUT, &problem, FIX_FILE),
        Ok(Trust::Trusted) if needed => Finding::good(ABOUT, format!("{cwd} is trusted")),
        Ok(_) if !needed => {
            Finding::good(ABOUT, format!("{cwd} contains nothing that needs trust"))
        }
        Ok(Trust::Untrusted) => Finding::good(
            ABOUT,
            format!("{cwd} is not trusted; its settings, skills and prompts are not used"),
        ),
        Ok(_) => Finding::warning(
            ABOUT,
            format!("trust in {cwd} is undecided; its settings, skills and prompts are not used"),
            "Review the files in .pi, then run pi with --approve or --no-approve, or set \
             defaultProjectTrust in your settings.json.",
        ),
    }]
}

/// Checks the user's providers and models.
pub(super) fn models(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "models";
    let path = models_file(&environment.agent_directory);
    let (file, problems) = ModelsFile::load(&path);
    let fix = "Fix models.json; docs/schemas/models.schema.json describes its format.";
    let mut findings: Vec<Finding> =
        problems.iter().map(|problem| Finding::from(ABOUT, problem, fix)).collect();
    if path.exists() && findings.is_empty() {
        let count = file.provider_ids().count();
        findings.push(Finding::good(ABOUT, format!("{count} providers in {}", path.display())));
    }
    findings
}

/// Checks the rule files that a session in this directory would load.
pub(super) fn rules(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "rules";
    let settings = load(environment);
    if let Some(problem) = settings.guard_error() {
        let message = format!("{problem}: no command will run");
        return vec![Finding::error(ABOUT, message, FIX_FILE)];
    }
    let plan = GuardPlan::new(settings.settings(), environment);
    let loaded = rules::load(environment, settings.is_trusted(), &plan.rules);
    vec![match loaded {
        Ok(_) => {
            let message = format!("profile {}; all rule files are valid", plan.profile.as_str());
            Finding::good(ABOUT, message)
        }
        Err(error) => Finding::error(
            ABOUT,
            format!("{error}: no command will run"),
            "Fix the file or move it away; check it with `pi policy test FILE`.",
        ),
    }]
}

/// Checks context files, skills, prompts and additions to the system prompt.
pub(super) fn resources(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "resources";
    let settings = load(environment);
    let found = load_resources(environment, &settings, &ResourceFlags::default());
    let fix = "Fix or remove the file; until then, its valid parts are used.";
    let mut findings: Vec<Finding> =
        found.diagnostics.iter().map(|one| Finding::from(ABOUT, one, fix)).collect();
    let (files, skills, prompts) =
        (found.context_files.len(), found.skills.len(), found.prompts.len());
    let message = format!("{files} context files, {skills} skills, {prompts} prompts");
    findings.push(Finding::good(ABOUT, message));
    findings
}
