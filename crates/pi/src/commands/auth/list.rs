//! `pi auth list`: lists the sources of credentials, never their values.

use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use pi_base::text;
use pi_host::credentials::source_name;
use pi_models::CredentialSource;
use serde_json::{Value, json};

use super::{CommandResult, Credentials, open, plain, success};
use crate::exit::{Exit, hint, note};
use crate::flags::parse::CommandArgs;

/// A credential in the list.
struct Row {
    provider: String,
    source: CredentialSource,
    /// Usable, as far as can be known without running a command.
    usable: bool,
}

pub(in crate::commands) fn list(args: &CommandArgs) -> CommandResult {
    let credentials = open()?;
    let stored = credentials.store.list()?;
    let mut exit: ExitCode = success();
    for problem in &credentials.problems {
        note(&problem.to_string());
        exit = Exit::Configuration.into();
    }
    for provider in &stored {
        if let Err(error) = credentials.store.get(provider) {
            note(&error.diagnostic().to_string());
            exit = Exit::Configuration.into();
        }
    }
    let rows = rows(&credentials, stored);
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = rows.iter().map(to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else if rows.is_empty() {
        note("no credentials found");
        hint("set a variable such as ANTHROPIC_API_KEY, or store a key with `pi auth set`");
    }
    if !args.has("json") {
        let names = rows.iter().map(|row| row.provider.chars().count());
        let width = names.max().unwrap_or_default();
        for row in &rows {
            let provider = text::one_line(&row.provider);
            writeln!(out, "{provider:width$}  {}", describe(row))?;
        }
    }
    out.flush()?;
    Ok(exit)
}

/// Returns the stored credentials in the order of the file, then all others.
fn rows(credentials: &Credentials, stored: Vec<String>) -> Vec<Row> {
    let registry = &credentials.registry;
    let models = registry.models();
    let others = models.providers().filter(|provider| stored.iter().all(|name| name != provider));
    let others: Vec<String> = others.map(str::to_owned).collect();
    let row = |provider: String| {
        let source = registry.credential_source(&provider)?;
        let usable = credentials.known(&provider).is_some() && registry.is_available(&provider);
        (source != CredentialSource::NotNeeded).then_some(Row { provider, source, usable })
    };
    let readable = |provider: &String| credentials.store.get(provider).is_ok();
    stored.into_iter().filter(readable).chain(others).filter_map(row).collect()
}

fn describe(row: &Row) -> String {
    let text = match row.source {
        CredentialSource::Login { expires } if expires <= pi_protocol::now_ms() => {
            return format!("login in auth.json, expired {}", plain::expiry(expires));
        }
        CredentialSource::Login { expires } => {
            format!("login in auth.json, expires {}", plain::expiry(expires))
        }
        source => format!("key in {}", source_name(source)),
    };
    let unusable = if row.usable { "" } else { " (unusable; see `pi doctor`)" };
    format!("{text}{unusable}")
}

fn to_json(row: &Row) -> Value {
    let (kind, expires, ended) = match row.source {
        CredentialSource::Login { expires } => {
            ("oauth", Some(expires), expires <= pi_protocol::now_ms())
        }
        _ => ("api_key", None, false),
    };
    let mut object = json!({
        "provider": row.provider,
        "type": kind,
        "source": source_name(row.source),
        "usable": row.usable && !ended,
    });
    if let Some(expires) = expires {
        object["expires"] = expires.into();
    }
    object
}
