//! `pi config list` and `pi config get`.

use std::io::{BufWriter, Write as _};

use serde_json::{Value, json};

use super::{CommandResult, Configuration, Failure, success, text};
use crate::exit::print;
use crate::flags::parse::CommandArgs;

/// Prints all settings that have an effect or are set, or those of a group.
pub(in crate::commands) fn list(args: &CommandArgs) -> CommandResult {
    let configuration = Configuration::load()?;
    let wanted = args.word(0);
    let is_wanted = |key: &str| {
        wanted.is_none_or(|wanted| {
            key.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let mut rows = Vec::new();
    for setting in configuration.catalog.settings() {
        let value = configuration.value(&setting);
        if is_wanted(&setting.key()) && (setting.has_effect || value.is_some()) {
            rows.push((setting, value));
        }
    }
    if rows.is_empty() {
        // The group does not exist, or it is empty.
        configuration.setting(wanted.unwrap_or_default())?;
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = rows
            .iter()
            .map(|(setting, value)| {
                let (value, source) = value.clone().unzip();
                json!({
                    "key": setting.key(),
                    "value": value.map(redacted),
                    "source": source,
                    "description": setting.description,
                })
            })
            .collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else {
        for (setting, value) in &rows {
            match value {
                Some((value, source)) => {
                    writeln!(out, "{} = {} ({source})", setting.key(), text(value))?;
                }
                None => writeln!(out, "{} (not set)", setting.key())?,
            }
            writeln!(out, "    {}", setting.description)?;
        }
    }
    out.flush()?;
    Ok(success())
}

/// Prints the effective value of a setting.
pub(in crate::commands) fn get(args: &CommandArgs) -> CommandResult {
    let configuration = Configuration::load()?;
    let setting = configuration.setting(args.word(0).unwrap_or_default())?;
    let Some((value, source)) = configuration.value(&setting) else {
        return Err(Failure::failed(format!("{} is not set", setting.key())));
    };
    if args.has("json") {
        let object = json!({ "key": setting.key(), "value": redacted(value), "source": source });
        return Ok(print(&format!("{object}\n")));
    }
    Ok(print(&format!("{}\n", text(&value))))
}

fn redacted(mut value: Value) -> Value {
    crate::secrets::own().redact_json(&mut value);
    value
}
