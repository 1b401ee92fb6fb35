//! `pi models list`: prints a table of models with limits and prices.

use std::io::{BufWriter, Write as _};

use pi_base::text;
use pi_models::{ModelDescription, local, short_count};
use serde_json::Value;

use super::show::price;
use super::{CommandArgs, CommandResult, project, registry, report_store};
use super::{success, wait};
use crate::exit::{self, Exit, note};
use crate::hints::FIRST_MODEL;

/// Heads of the columns. The second half is aligned to the right.
const HEAD: [&str; 9] =
    ["provider", "model", "thinking", "images", "usable", "context", "max-out", "input", "output"];
const LEFT: usize = 5;

pub(in crate::commands) fn list(args: &CommandArgs) -> CommandResult {
    let project = project::open_silently()?;
    let provider = args.value("provider");
    let search = args.words.join(" ");
    let mut models = wait(async {
        let registry = registry(&project).await;
        if provider.is_none_or(local::names_local_provider) {
            registry.find_local_servers().await;
        }
        let models = registry.describe_models(provider, Some(&search));
        report_store(&registry);
        models
    })?;
    let found = models.len();
    // A catalog of all vendors is in the way of the few models that can be used.
    let is_narrowed = provider.is_some() || !search.is_empty() || args.has("all");
    if args.has("available") || !is_narrowed && !args.has("json") {
        models.retain(|one| one.unusable.is_none());
    }
    let words = words(&search);
    models.sort_by_key(|one| (one.unusable.is_some(), rank(one, &words)));
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = models.iter().map(ModelDescription::to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(success());
    }
    if models.is_empty() && !is_narrowed {
        let failure = exit::Failure::new("no model can be used yet", Exit::NoModel);
        let hint = format!("{FIRST_MODEL}; `pi models --all` lists {found} models");
        return Err(failure.with_hint(hint).into());
    }
    if models.is_empty() {
        note("no models match");
        return Ok(Exit::Failed.into());
    }
    let rows: Vec<[String; HEAD.len()]> = models.iter().map(row).collect();
    let heads = HEAD.map(str::to_owned);
    let lines = || std::iter::once(&heads).chain(&rows);
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| lines().map(|line| line[column].chars().count()).max().unwrap_or_default())
        .collect();
    for line in lines() {
        let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if at < LEFT { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    out.flush()?;
    let more = found - models.len();
    if more > 0 && !args.has("available") {
        note(&format!("{more} more models need a key or a login; `pi models --all` lists them"));
    }
    Ok(success())
}

fn words(search: &str) -> Vec<String> {
    let words = search.split(|c: char| c.is_whitespace() || c == '/');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Returns how well a model matches: 0 if a word is its provider or id, 1 if the words occur in
/// them, 2 if only their letters do.
fn rank(described: &ModelDescription, words: &[String]) -> u8 {
    let (provider, id) =
        (described.model.provider.to_lowercase(), described.model.id.to_lowercase());
    if words.iter().any(|word| *word == provider || *word == id) {
        return 0;
    }
    u8::from(!words.iter().all(|word| provider.contains(word) || id.contains(word))) + 1
}

fn row(described: &ModelDescription) -> [String; HEAD.len()] {
    let model = &described.model;
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    [
        text::one_line(&model.provider),
        text::one_line(&model.id),
        yes(model.reasoning),
        yes(model.accepts_images()),
        yes(described.unusable.is_none()),
        short_count(model.context_window),
        short_count(model.max_tokens),
        price(model, model.cost.input),
        price(model, model.cost.output),
    ]
}
