//! `pi config`: lists, prints and changes settings, and prints the schemas of files.

mod change;
mod list;

use pi_base::text;
use pi_coding_agent::Project;
use pi_config::SettingsScope;
use pi_config::settings::{Setting, SettingsCatalog};
use pi_models::schemas;
use serde_json::Value;

use super::{CommandResult, Failure, project, success};
use crate::exit::{note, print};
use crate::features::with_feature;
use crate::flags::parse::CommandArgs;
use crate::flags::suggest;

pub(super) use change::{set, unset};
pub(super) use list::{get, list};

/// The settings of the working directory.
struct Configuration {
    project: Project,
    catalog: SettingsCatalog,
}

impl Configuration {
    /// Loads the settings as a run does. Problems of the files are reported on stderr.
    fn load() -> Result<Self, Failure> {
        let project = project::open_silently()?;
        project::report(&project);
        if let Some(problem) = project.store().guard_error() {
            note(&format!("warning: {problem}"));
        }
        Ok(Self { project, catalog: SettingsCatalog::new() })
    }

    /// Finds a setting by its key.
    fn setting(&self, key: &str) -> Result<Setting, Failure> {
        self.catalog.find(key).ok_or_else(|| {
            let keys: Vec<String> = self.catalog.settings().iter().map(Setting::key).collect();
            let is_group = keys.iter().any(|known| known.starts_with(&format!("{key}.")));
            if is_group {
                return Failure::usage(format!("`{key}` is a group of settings"))
                    .hint(format!("list its keys with `pi config list {key}`"));
            }
            let near = suggest::nearest(key, keys.iter().map(String::as_str)).or_else(|| {
                // Without its group, or with another ending, a key is still recognizable.
                let last = |known: &&String| known.rsplit('.').next() == key.rsplit('.').next();
                let part = |known: &&String| {
                    key.len() > 3 && known.to_lowercase().contains(&key.to_lowercase())
                };
                keys.iter().find(last).or_else(|| keys.iter().find(part)).map(String::as_str)
            });
            let failure = Failure::usage(format!("unknown setting `{key}`"));
            match near {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure.hint("list the settings with `pi config list`"),
            }
        })
    }

    /// Returns the effective value of a setting and its source, if it is known.
    fn value(&self, setting: &Setting) -> Option<(Value, &'static str)> {
        match self.project.store().value(&setting.path) {
            Some((value, SettingsScope::User)) => Some((value, "user")),
            Some((value, SettingsScope::Project)) => Some((value, "project")),
            None => Some((setting.default.clone()?, "default")),
        }
    }
}

/// Prints the JSON Schema of a file.
pub(super) fn schema(args: &CommandArgs) -> CommandResult {
    let name = args.word(0).unwrap_or_default();
    let schema = match name {
        "task" | "report" => with_feature!("converge", run_schema(name)),
        name => schemas()
            .into_iter()
            .find(|file| file.name == name)
            .map(|file| file.schema)
            .ok_or_else(|| Failure::failed(format!("no schema is named {name}"))),
    };
    Ok(print(&format!("{}\n", serde_json::to_string_pretty(&schema?)?)))
}

/// Returns the schema of a file of `pi run`.
#[cfg(feature = "converge")]
fn run_schema(name: &str) -> Result<Value, Failure> {
    Ok(if name == "task" { pi_converge::task_schema() } else { pi_converge::report_schema() })
}

/// Returns a value as text: strings without quotes, other values as JSON, secrets redacted.
fn text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text::one_line(&crate::secrets::own().redact(&text))
}
