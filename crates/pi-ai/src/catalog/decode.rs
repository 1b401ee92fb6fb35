//! Decodes a line of the catalog into a [`Model`].
//!
//! A line has five fields, separated by tabs:
//!
//! ```text
//! id  name  context-window max-tokens  input output cache-read cache-write  references
//! ```
//!
//! An empty name repeats the id. Trailing prices of 0 are left out, and so is the 0 before a point.
//! The references are letters with numbers, `rie2t0c5`: `r` marks reasoning, `i` image input, the
//! others refer to a row of a table ([`Tables`]). Rows are JSON, and only the rows that a line
//! refers to are parsed.
//!
//! The writer of this format is `xtask/src/catalog/encode.rs`; a test there decodes every
//! record and compares it with its source.

use pi_protocol::{CostTier, InputKind, Model, ModelCost};
use serde::de::DeserializeOwned;

/// Data shared by many models: one row per line, the most used rows first.
///
/// Rows are found by counting lines, which is faster than an index of offsets because nearly all
/// models refer to the first few rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables {
    /// `e`: the wire format and the base URL.
    pub(super) endpoints: &'static str,
    /// `t`: names of thinking levels.
    pub(super) thinking: &'static str,
    /// `l`: limits on the input.
    pub(super) limits: &'static str,
    /// `c`: differences from the wire format.
    pub(super) compat: &'static str,
    /// `h`: headers of every request.
    pub(super) headers: &'static str,
    /// `p`: lifetimes of cached prompts.
    pub(super) caches: &'static str,
    /// `k`: prices of requests with much input.
    pub(super) tiers: &'static str,
}

/// Decodes a line; `None` if the line does not have the form described above.
pub(super) fn model(provider: &str, line: &str, tables: &Tables) -> Option<Model> {
    let mut fields = line.split('\t');
    let id = fields.next()?;
    let name = fields.next()?;
    let (context_window, max_tokens) = fields.next()?.split_once(' ')?;
    let cost = prices(fields.next()?)?;
    let references = fields.next()?;
    if fields.next().is_some() {
        return None;
    }
    let mut model = Model {
        id: id.to_owned(),
        name: if name.is_empty() { id } else { name }.to_owned(),
        provider: provider.to_owned(),
        input: vec![InputKind::Text],
        cost,
        context_window: context_window.parse().ok()?,
        max_tokens: max_tokens.parse().ok()?,
        ..Model::default()
    };
    // Clients tell chat models from models of images by this field.
    model.extra.insert("type".to_owned(), "chat".into());
    apply(references, &mut model, tables)?;
    Some(model)
}

fn prices(text: &str) -> Option<ModelCost> {
    let mut cost = ModelCost::default();
    let mut words = text.split_ascii_whitespace();
    for price in [&mut cost.input, &mut cost.output, &mut cost.cache_read, &mut cost.cache_write] {
        let Some(word) = words.next() else { break };
        *price = word.parse().ok()?;
    }
    words.next().is_none().then_some(cost)
}

/// Parses `rie2t0c5` and adds the data of each reference to the model.
fn apply(mut references: &str, model: &mut Model, tables: &Tables) -> Option<()> {
    while let Some(kind) = references.chars().next() {
        let rest = references.get(kind.len_utf8()..)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits)?;
        references = after;
        match kind {
            'r' => model.reasoning = true,
            'i' => model.input.push(InputKind::Image),
            'e' => (model.api, model.base_url) = row(tables.endpoints, number)?,
            't' => model.thinking_level_map = row(tables.thinking, number)?,
            'l' => model.input_limits = Some(row(tables.limits, number)?),
            'c' => model.compat = row(tables.compat, number)?,
            'h' => model.headers = row(tables.headers, number)?,
            'p' => model.prompt_cache = Some(row(tables.caches, number)?),
            'k' => model.cost.tiers = row::<Vec<CostTier>>(tables.tiers, number)?,
            _ => return None,
        }
    }
    // Every model has an endpoint.
    (!model.api.is_empty()).then_some(())
}

fn row<T: DeserializeOwned>(table: &str, number: &str) -> Option<T> {
    serde_json::from_str(table.lines().nth(number.parse().ok()?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: Tables = Tables {
        endpoints: "[\"wire-a\",\"https://a.example\"]\n[\"wire-b\",\"\"]\n",
        thinking: "{\"off\":null,\"high\":\"max\"}\n",
        limits: "{\"maxRequestBytes\":5}\n",
        compat: "{\"x\":true}\n{\"y\":[1]}\n",
        headers: "{\"A\":\"b\"}\n",
        caches: "{\"short\":300}\n",
        tiers: "[{\"inputTokensAbove\":10,\"input\":2}]\n",
    };

    fn check(line: &str, json: &str) {
        let expected: Model = serde_json::from_str(json).unwrap();
        assert_eq!(model("p", line, &TABLES), Some(expected));
    }

    #[test]
    fn a_line_with_all_fields_is_decoded() {
        check(
            "a/b c:1\tName\t200 100\t3 .5 0 .25\trie0t0l0c1h0p0k0",
            r#"{"id":"a/b c:1","name":"Name","provider":"p","api":"wire-a",
                "baseUrl":"https://a.example","reasoning":true,"input":["text","image"],
                "thinkingLevelMap":{"off":null,"high":"max"},"inputLimits":{"maxRequestBytes":5},
                "cost":{"input":3,"output":0.5,"cacheRead":0,"cacheWrite":0.25,
                    "tiers":[{"inputTokensAbove":10,"input":2}]},
                "contextWindow":200,"maxTokens":100,"compat":{"y":[1]},"headers":{"A":"b"},
                "promptCache":{"short":300},"type":"chat"}"#,
        );
    }

    #[test]
    fn a_minimal_line_is_decoded() {
        check(
            "a\t\t8 4\t\te1",
            r#"{"id":"a","name":"a","provider":"p","api":"wire-b","input":["text"],
                "contextWindow":8,"maxTokens":4,"type":"chat"}"#,
        );
    }

    #[test]
    fn invalid_lines_are_rejected() {
        for line in [
            "",
            "a",
            "a\t\t8 4\t",
            "a\t\t8\t\te1",
            "a\t\t8 x\t\te1",
            "a\t\t8 4\t1 2 3 4 5\te1",
            "a\t\t8 4\tfree\te1",
            "a\t\t8 4\t\tr",
            "a\t\t8 4\t\te",
            "a\t\t8 4\t\te2",
            "a\t\t8 4\t\te1z",
            "a\t\t8 4\t\té1",
            "a\t\t8 4\t\te99999999999999999999999",
            "a\t\t8 4\t\te1\tmore",
        ] {
            assert_eq!(model("p", line, &TABLES), None, "{line:?}");
        }
    }
}
