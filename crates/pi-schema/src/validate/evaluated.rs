//! The members and items that the keywords of a schema evaluate, for `unevaluatedProperties` and
//! `unevaluatedItems`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::accepts;
use crate::document::{Cursor, Document, Target, branches};

/// The parts of one value that were evaluated.
#[derive(Default)]
pub(super) struct Evaluated<'v> {
    members: HashSet<&'v str>,
    items: HashSet<usize>,
    /// All items before this index.
    first_items: usize,
    /// All members, or all items.
    all: bool,
}

impl Evaluated<'_> {
    pub(super) fn has_member(&self, key: &str) -> bool {
        self.all || self.members.contains(key)
    }

    pub(super) fn has_item(&self, index: usize) -> bool {
        self.all || index < self.first_items || self.items.contains(&index)
    }
}

/// Adds the parts of `value` that `keywords` evaluate, except by their own unevaluated keywords.
pub(super) fn collect<'s, 'v>(
    document: &Document<'s>,
    keywords: &'s Map<String, Value>,
    value: &'v Value,
    cursor: Cursor<'_>,
    out: &mut Evaluated<'v>,
) {
    let object = |keyword| keywords.get(keyword).and_then(Value::as_object);
    match value {
        Value::Object(members) => {
            out.all |= keywords.contains_key("additionalProperties");
            for key in members.keys() {
                let is_declared = object("properties").is_some_and(|known| known.contains_key(key));
                let matches =
                    |source: &str| document.pattern(source).is_none_or(|p| p.matches(key));
                let mut patterns = object("patternProperties").into_iter().flatten();
                if is_declared || patterns.any(|(source, _)| matches(source)) {
                    out.members.insert(key);
                }
            }
            for (_, part) in object("dependentSchemas")
                .into_iter()
                .flatten()
                .filter(|(key, _)| members.contains_key(*key))
            {
                collect_in(document, part, value, cursor, out);
            }
        }
        Value::Array(items) => {
            let tuple = branches(keywords, "items");
            let rest = if tuple.is_some() { "additionalItems" } else { "items" };
            out.all |= keywords.contains_key(rest);
            let first = tuple.or_else(|| branches(keywords, "prefixItems")).unwrap_or_default();
            out.first_items = out.first_items.max(first.len());
            if let Some(wanted) = keywords.get("contains") {
                let matches = |at: &usize| accepts(document, wanted, &items[*at], cursor.child());
                out.items.extend((0..items.len()).filter(matches));
            }
        }
        _ => return,
    }
    let same = cursor.same_value();
    let fits = |part: &'s Value| accepts(document, part, value, same);
    for part in branches(keywords, "allOf").into_iter().flatten() {
        collect_in(document, part, value, same, out);
    }
    for keyword in ["anyOf", "oneOf"] {
        for branch in branches(keywords, keyword).into_iter().flatten().filter(|part| fits(part)) {
            collect_in(document, branch, value, same, out);
        }
    }
    if let Some(condition) = keywords.get("if") {
        let holds = fits(condition);
        let parts = if holds {
            [Some(condition), keywords.get("then")]
        } else {
            [None, keywords.get("else")]
        };
        for part in parts.into_iter().flatten() {
            collect_in(document, part, value, same, out);
        }
    }
    for reference in
        document.references().iter().filter_map(|keyword| keywords.get(*keyword)?.as_str())
    {
        if let Target::Schema(target) = document.follow(reference, cursor) {
            let hop = cursor.hop(target);
            collect_in(document, target, value, cursor.after(&hop), out);
        }
    }
}

/// Adds the parts that a subschema for the same value evaluates.
fn collect_in<'s, 'v>(
    document: &Document<'s>,
    schema: &'s Value,
    value: &'v Value,
    cursor: Cursor<'_>,
    out: &mut Evaluated<'v>,
) {
    let Some(keywords) = schema.as_object() else { return };
    if !document.step(cursor) {
        return;
    }
    let unevaluated = if value.is_object() { "unevaluatedProperties" } else { "unevaluatedItems" };
    out.all |= keywords.contains_key(unevaluated);
    collect(document, keywords, value, cursor, out);
}
