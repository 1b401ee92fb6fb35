//! Models as rows of a table, for `--list-models`.

use std::cmp::Ordering;

use pi_protocol::Model;

use crate::resolve::order;

/// The row of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRow {
    /// Id of the provider.
    pub provider: String,
    /// Id of the model.
    pub model: String,
    /// Context window in short form: `131.1K`.
    pub context: String,
    /// Output limit in short form.
    pub max_out: String,
    /// The model supports thinking.
    pub thinking: bool,
    /// The model accepts images.
    pub images: bool,
}

/// Returns the rows of the models that match `search`, sorted by provider and id.
pub fn model_rows<'m>(
    models: impl IntoIterator<Item = &'m Model>,
    search: Option<&str>,
) -> Vec<ModelRow> {
    matching(models, search, |model| model).into_iter().map(row).collect()
}

/// Returns the models that match `search`, sorted by provider and id.
pub(crate) fn matching<T>(
    models: impl IntoIterator<Item = T>,
    search: Option<&str>,
    record: impl Fn(&T) -> &Model,
) -> Vec<T> {
    let search: Vec<String> = search
        .unwrap_or_default()
        .split(|c: char| c.is_whitespace() || c == '/')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let fitting = models.into_iter().filter(|model| fits(record(model), &search));
    let mut found: Vec<T> = fitting.collect();
    found.sort_by(|a, b| {
        let (a, b) = (record(a), record(b));
        match order(&a.provider, &b.provider) {
            Ordering::Equal => order(&a.id, &b.id),
            other => other,
        }
    });
    found
}

/// Formats the rows as lines with padded columns; the first line is the header.
pub fn model_table(rows: &[ModelRow]) -> Vec<String> {
    let head = ["provider", "model", "context", "max-out", "thinking", "images"];
    let yes = |is: bool| if is { "yes" } else { "no" };
    let cells = rows.iter().map(|row| {
        let (thinking, images) = (yes(row.thinking), yes(row.images));
        [&*row.provider, &*row.model, &*row.context, &*row.max_out, thinking, images]
    });
    let lines: Vec<[&str; 6]> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let padded = |line: &[&str; 6]| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    lines.iter().map(padded).collect()
}

fn row(model: &Model) -> ModelRow {
    ModelRow {
        provider: model.provider.clone(),
        model: model.id.clone(),
        context: short_count(model.context_window),
        max_out: short_count(model.max_tokens),
        thinking: model.reasoning,
        images: model.accepts_images(),
    }
}

/// Formats a number of tokens as `999`, `128K`, `16.4K`, `1M` or `1.0M`: with one decimal unless it is exact.
pub fn short_count(tokens: u64) -> String {
    let in_units = |unit: u64, letter: char| {
        if tokens.is_multiple_of(unit) {
            format!("{}{letter}", tokens / unit)
        } else {
            format!("{:.1}{letter}", tokens as f64 / unit as f64)
        }
    };
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => in_units(1_000, 'K'),
        _ => in_units(1_000_000, 'M'),
    }
}

/// Returns true if the letters of every word occur in order in provider and id.
fn fits(model: &Model, words: &[String]) -> bool {
    let text = format!("{} {}", model.provider, model.id).to_lowercase();
    words.iter().all(|word| within(word, &text) || swapped(word).is_some_and(|w| within(&w, &text)))
}

fn within(word: &str, text: &str) -> bool {
    let mut letters = text.chars();
    word.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// Returns `qwen27` for `27qwen` and vice versa: users remember both parts, but not their order.
fn swapped(word: &str) -> Option<String> {
    let starts_with_digit = word.starts_with(|c: char| c.is_ascii_digit());
    let other = |c: char| c.is_ascii_digit() != starts_with_digit;
    let (head, tail) = word.split_at(word.find(other)?);
    let plain = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
    (tail.chars().all(other) && word.chars().all(plain)).then(|| format!("{tail}{head}"))
}
