//! `pi models show`: prints everything that is known about a model.

use std::io::{BufWriter, Write as _};

use pi_ai::{CostTier, InputKind, Model, wire};
use pi_base::text;
use pi_models::{ModelDescription, ModelRequest, RecordSource, SelectModelError, short_count};

use super::{CommandArgs, CommandResult, Failure, project, registry, report_store};
use super::{success, wait};
use crate::exit::{hint, note};
use crate::hints::Hint as _;

pub(in crate::commands) fn show(args: &CommandArgs) -> CommandResult {
    let project = project::open_silently()?;
    let text = args.word(0).unwrap_or_default();
    let described = wait(async {
        let registry = registry(&project).await;
        let request = ModelRequest { model: Some(text), ..ModelRequest::default() };
        let found = registry.request(&request).await;
        report_store(&registry);
        let not_found = || SelectModelError::NotFound(text.to_owned());
        let model = found?.ok_or_else(not_found)?.model;
        // A run may use an id that no record has; there is nothing to show about it.
        registry.find(&model.provider, &model.id).ok_or_else(not_found)?;
        Ok::<_, SelectModelError>(registry.describe(model))
    })?;
    let described = match described {
        Ok(described) => described,
        Err(error @ SelectModelError::NotFound(_)) => {
            let failure = Failure::failed(error.to_string());
            return Err(failure.hint("list the models with `pi models list`"));
        }
        Err(error) => return Err(error.into()),
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        serde_json::to_writer_pretty(&mut out, &described.to_json())?;
        writeln!(out)?;
    } else {
        let lines = lines(&described);
        let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, value) in lines {
            writeln!(out, "{name:width$}  {}", text::one_line(&value))?;
        }
    }
    out.flush()?;
    drop(out);
    if let Some(reason) = described.unusable.filter(|_| !args.has("json")) {
        note(&format!(
            "{}/{} cannot be used: {reason}",
            described.model.provider, described.model.id
        ));
        reason.hint().iter().for_each(|text| hint(text));
    }
    Ok(success())
}

/// Returns the properties of a model with their names.
fn lines(described: &ModelDescription) -> Vec<(&'static str, String)> {
    let model = &described.model;
    let mut lines =
        vec![("model", format!("{}/{}", model.provider, model.id)), ("name", model.name.clone())];
    let is_spoken = wire::format(&model.api).is_some() || described.unusable.is_none();
    let note = if is_spoken { "" } else { " (not supported by this version)" };
    lines.push(("format", format!("{}{note}", model.api)));
    if !model.base_url.is_empty() {
        lines.push(("address", model.base_url.clone()));
    }
    let inputs = model.input.iter().map(|kind| match kind {
        InputKind::Image => "image",
        _ => "text",
    });
    lines.push(("input", inputs.collect::<Vec<_>>().join(", ")));
    lines.push(("context", tokens(model.context_window)));
    lines.push(("max output", tokens(model.max_tokens)));
    let levels = model.thinking_levels();
    let levels = levels.iter().map(|level| level.as_str());
    lines.push(("thinking", levels.collect::<Vec<_>>().join(", ")));
    prices(model, &mut lines);
    if let Some(cache) = &model.prompt_cache {
        let times = [cache.short, cache.long].into_iter().flatten().map(duration);
        lines.push(("prompt cache", times.collect::<Vec<_>>().join(" or ")));
    }
    lines.push(("source", source(described).to_owned()));
    lines.push(("usable", if described.unusable.is_none() { "yes" } else { "no" }.to_owned()));
    lines
}

fn prices(model: &Model, lines: &mut Vec<(&'static str, String)>) {
    if !has_prices(model) {
        lines.push(("price", "none, or not known".to_owned()));
        return;
    }
    let base = model.cost.rate_for(0);
    lines.push(("price", format!("per million tokens: {}", rates(model, &base))));
    let mut tiers = model.cost.tiers.clone();
    tiers.sort_by_key(|tier| tier.input_tokens_above);
    for tier in &tiers {
        let above = short_count(tier.input_tokens_above);
        lines.push(("", format!("above {above} input tokens: {}", rates(model, tier))));
    }
}

/// Returns the prices of a tier. Only models with a long cache have a second class of writes.
fn rates(model: &Model, rate: &CostTier) -> String {
    let has_classes = model.prompt_cache.as_ref().is_some_and(|cache| cache.long.is_some());
    let write = if has_classes && rate.cache_write > 0.0 {
        let one_hour = rate.cache_write_one_hour();
        format!("{} (1 h: {})", dollars(rate.cache_write), dollars(one_hour))
    } else {
        dollars(rate.cache_write)
    };
    format!(
        "input {}, output {}, cache read {}, cache write {write}",
        dollars(rate.input),
        dollars(rate.output),
        dollars(rate.cache_read)
    )
}

fn has_prices(model: &Model) -> bool {
    let cost = &model.cost;
    [cost.input, cost.output, cost.cache_read, cost.cache_write].iter().any(|price| *price > 0.0)
}

/// Formats a price of a model; `-` if the model has none.
pub(super) fn price(model: &Model, price: f64) -> String {
    if has_prices(model) { dollars(price) } else { "-".to_owned() }
}

/// Formats a price with two decimals, or more if it has more.
fn dollars(price: f64) -> String {
    let exact = format!("{price}");
    let decimals = exact.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("${price:.*}", decimals.clamp(2, 6))
}

fn tokens(count: u64) -> String {
    if count == 0 { "unknown".to_owned() } else { format!("{} tokens", short_count(count)) }
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

fn source(described: &ModelDescription) -> &'static str {
    match (described.source, described.is_changed) {
        (RecordSource::BuiltIn, false) => "built-in catalog",
        (RecordSource::BuiltIn, true) => "built-in catalog, changed by models.json or an extension",
        (RecordSource::Update, false) => "catalog update",
        (RecordSource::Update, true) => "catalog update, changed by models.json or an extension",
        (RecordSource::ModelsFile, _) => "models.json",
        (RecordSource::Extension, _) => "extension",
        (RecordSource::LocalServer, _) => "local server",
        (other, _) => other.as_str(),
    }
}
