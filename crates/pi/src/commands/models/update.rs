//! `pi models update`: loads newer model records from a server that the user names.

use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use pi_ai::catalog;
use pi_base::text;
use pi_coding_agent::Project;
use pi_config::SettingsScope;
use pi_models::{CatalogUpdate, ProviderUpdate, UpdateError, update_models};
use serde_json::{Map, Value, json};

use super::{CommandArgs, CommandResult, Credentials, Failure, project, success, wait};
use crate::exit::{Exit, note};
use crate::flags::suggest;

/// Environment variable that sets the URL.
const VARIABLE: &str = "PI_MODELS_URL";

/// Most names and reasons in a line.
const SHOWN: usize = 5;

pub(in crate::commands) fn update(args: &CommandArgs) -> CommandResult {
    run(args.value("url"), &args.words, args.has("json"))
}

/// Updates the providers with credentials, for `pi update --models`.
pub(in crate::commands) fn update_configured() -> CommandResult {
    run(None, &[], false)
}

fn run(url: Option<&str>, names: &[String], json: bool) -> CommandResult {
    let project = project::open_silently()?;
    project::report(&project);
    let environment = project.environment();
    let settings = project.store().scope(SettingsScope::User);
    let url = url.or(environment.variable(VARIABLE)).map(str::to_owned);
    let Some(url) = url.or(settings.models_url) else {
        let failure = Failure::usage("no URL to load model records from is configured");
        return Err(failure.hint(format!(
            "name one with `pi models update --url URL`, in {VARIABLE}, or with `pi config set \
             modelsUrl URL`"
        )));
    };
    if environment.is_offline() {
        let failure = Failure::failed("PI_OFFLINE is set, so nothing was loaded");
        return Err(failure.hint("unset PI_OFFLINE; the models that are known stay available"));
    }
    let providers = providers(names, &project)?;
    let update = wait(update_models(environment, settings.http_proxy, &url, &providers))??;
    if let Some(path) = &update.moved_aside {
        note(&format!("models-store.json was not valid; it was moved to {}", path.display()));
    }
    let exit: ExitCode = match update.providers.values().any(Result::is_err) {
        true => Exit::Failed.into(),
        false => success(),
    };
    print(&update, json)?;
    Ok(exit)
}

/// Returns the providers to update: the named ones, else those with credentials.
fn providers(names: &[String], project: &Project) -> Result<Vec<String>, Failure> {
    let built_in = |name: &str| catalog::providers().find(|id| id.eq_ignore_ascii_case(name));
    if !names.is_empty() {
        return names
            .iter()
            .map(|name| match built_in(name) {
                Some(id) => Ok(id.to_owned()),
                None => {
                    let failure = Failure::usage(format!("there is no provider \"{name}\""));
                    let near = suggest::nearest(name, catalog::providers());
                    Err(match near {
                        Some(near) => failure.hint(format!("did you mean {near}?")),
                        None => failure.hint("list the models with `pi models list`"),
                    })
                }
            })
            .collect();
    }
    let registry = Credentials::open(project).registry;
    let usable = catalog::providers().filter(|provider| registry.is_available(provider));
    let usable: Vec<String> = usable.map(str::to_owned).collect();
    if usable.is_empty() {
        let failure = Failure::new("no provider has credentials", Exit::NoModel);
        return Err(failure.hint("name the providers: pi models update anthropic openai"));
    }
    Ok(usable)
}

fn print(update: &CatalogUpdate, json: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    if json {
        let results = update.providers.iter();
        let object: Map<String, Value> =
            results.map(|(provider, result)| (provider.clone(), to_json(result))).collect();
        serde_json::to_writer_pretty(&mut out, &object)?;
        writeln!(out)?;
        return Ok(out.flush()?);
    }
    for (provider, result) in &update.providers {
        match result {
            Ok(result) => writeln!(out, "{provider}: {}", describe(result))?,
            Err(error) => {
                out.flush()?;
                note(&format!("{provider} was not updated: {error}"));
            }
        }
        if let Ok(ProviderUpdate::Stored { refused, .. }) = result {
            out.flush()?;
            for reason in refused.iter().take(SHOWN) {
                note(&format!("warning: {provider}: a record was left out: {reason}"));
            }
            if refused.len() > SHOWN {
                note(&format!("warning: {provider}: {} more were left out", refused.len() - SHOWN));
            }
        }
    }
    Ok(out.flush()?)
}

fn describe(update: &ProviderUpdate) -> String {
    match update {
        ProviderUpdate::Unchanged => "unchanged".to_owned(),
        ProviderUpdate::Older => "older than the catalog of this version; not stored".to_owned(),
        ProviderUpdate::Stored { models, added, .. } => {
            let plural = if *models == 1 { "" } else { "s" };
            let mut text = format!("{models} model{plural}");
            if !added.is_empty() {
                let names: Vec<&str> = added.iter().take(SHOWN).map(String::as_str).collect();
                let more = if added.len() > SHOWN { ", …" } else { "" };
                text.push_str(&format!(", {} new: {}{more}", added.len(), names.join(", ")));
            }
            text::one_line(&text)
        }
        _ => String::new(),
    }
}

fn to_json(result: &Result<ProviderUpdate, UpdateError>) -> Value {
    match result {
        Ok(ProviderUpdate::Unchanged) => json!({ "status": "unchanged" }),
        Ok(ProviderUpdate::Older) => json!({ "status": "older" }),
        Ok(ProviderUpdate::Stored { models, added, refused }) => {
            json!({ "status": "updated", "models": models, "added": added, "refused": refused })
        }
        Ok(_) => json!({ "status": "unknown" }),
        Err(error) => json!({ "status": "failed", "error": error.to_string() }),
    }
}
