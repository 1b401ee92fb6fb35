//! `pi config set` and `pi config unset`.

use pi_config::SettingsScope;
use pi_config::settings::{Setting, check_setting};
use serde_json::Value;

use super::{CommandResult, Configuration, Failure, text};
use crate::exit::{note, print};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn set(args: &CommandArgs) -> CommandResult {
    let mut configuration = Configuration::load()?;
    let setting = configuration.setting(args.word(0).unwrap_or_default())?;
    let scope = scope(args, &setting)?;
    let value = parse(&setting, args.word(1).unwrap_or_default())?;
    write(&mut configuration, &setting, scope, Some(&value))
}

pub(in crate::commands) fn unset(args: &CommandArgs) -> CommandResult {
    let mut configuration = Configuration::load()?;
    let setting = configuration.setting(args.word(0).unwrap_or_default())?;
    let scope = scope(args, &setting)?;
    write(&mut configuration, &setting, scope, None)
}

/// Returns the file to change.
fn scope(args: &CommandArgs, setting: &Setting) -> Result<SettingsScope, Failure> {
    if !args.has("project") {
        return Ok(SettingsScope::User);
    }
    if setting.user_only {
        let message = format!("a project cannot set `{}`", setting.key());
        return Err(Failure::usage(message).hint("omit --project to set it for all projects"));
    }
    Ok(SettingsScope::Project)
}

/// Reads a value: as JSON if that is valid for the setting, else as a string, else as a list of
/// strings that are separated by commas.
fn parse(setting: &Setting, word: &str) -> Result<Value, Failure> {
    let json = serde_json::from_str::<Value>(word).ok();
    if json == Some(Value::Null) {
        return Err(Failure::usage("null is not a value")
            .hint(format!("remove the setting with `pi config unset {}`", setting.key())));
    }
    let string = Value::from(word);
    let words = word.split(',').map(str::trim).filter(|word| !word.is_empty());
    let list: Value = words.collect::<Vec<_>>().into();
    // The problem of the form that the user chose explains most.
    let problem = check_setting(&setting.path, json.as_ref().unwrap_or(&string)).err();
    let is_structured = json.as_ref().is_some_and(|json| json.is_object() || json.is_array());
    let mut forms: Vec<Value> = json.into_iter().collect();
    if !is_structured {
        forms.extend([string, list]);
    }
    let valid = forms.into_iter().find(|value| check_setting(&setting.path, value).is_ok());
    valid.ok_or_else(|| {
        let problem = problem.unwrap_or_default();
        Failure::usage(format!("invalid value of `{}`: {problem}", setting.key())).hint(format!(
            "{}: {}",
            setting.key(),
            setting.description
        ))
    })
}

fn write(
    configuration: &mut Configuration,
    setting: &Setting,
    scope: SettingsScope,
    value: Option<&Value>,
) -> CommandResult {
    if scope == SettingsScope::Project && !configuration.project.store().is_trusted() {
        return Err(Failure::configuration(
            "the project is not trusted, so its settings do not apply",
        )
        .hint("review its files, then run `pi trust add`"));
    }
    if let Some(problem) = configuration.project.store().guard_error() {
        // The file cannot be written without losing what it says.
        return Err(Failure::configuration(problem.to_string()));
    }
    let path: Vec<&str> = setting.path.iter().map(String::as_str).collect();
    configuration.project.store_mut().update(scope, |changes| match value {
        Some(value) => changes.set(&path, value.clone()),
        None => changes.remove(&path),
    })?;
    if !setting.has_effect {
        note(&format!("`{}` has no effect in this version", setting.key()));
    }
    let effective = configuration.value(setting);
    let expected = match scope {
        SettingsScope::User => "user",
        SettingsScope::Project => "project",
    };
    if let Some((_, source)) = &effective
        && scope == SettingsScope::User
        && *source == "project"
    {
        note("the project sets it too, and its value applies here");
    }
    note_trust(configuration, expected);
    Ok(print(&match effective {
        Some((value, source)) => format!("{} = {} ({source})\n", setting.key(), text(&value)),
        None => format!("{} (not set)\n", setting.key()),
    }))
}

/// A project without settings needs no trust. With the first setting it does.
fn note_trust(configuration: &Configuration, scope: &str) {
    if scope == "project" && !configuration.project.reopened().is_trusted() {
        note("the settings of this project apply after `pi trust add`");
    }
}
