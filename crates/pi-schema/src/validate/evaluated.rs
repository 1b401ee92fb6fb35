//! The members and items that the keywords of a schema evaluate, for `unevaluatedProperties` and
//! `unevaluatedItems`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::accepts;
use crate::document::{Cursor, Document, Target, branches};
use crate::pattern::Pattern;

/// The parts of one value that were evaluated.
pub(super) struct Evaluated<'d, 's, 'v> {
    document: &'d Document<'s>,
    value: &'v Value,
    members: HashSet<&'v str>,
    items: HashSet<usize>,
    /// All members, or all items.
    all: bool,
}

impl<'d, 's, 'v> Evaluated<'d, 's, 'v> {
    /// Returns the parts of `value` that `keywords` evaluate, except by their own unevaluated
    /// keywords.
    pub(super) fn by(
        document: &'d Document<'s>,
        keywords: &'s Map<String, Value>,
        value: &'v Value,
        cursor: Cursor<'_>,
    ) -> Self {
        let (members, items) = (HashSet::new(), HashSet::new());
        let mut evaluated = Self { document, value, members, items, all: false };
        evaluated.add_keywords(keywords, cursor);
        evaluated
    }

    pub(super) fn has_member(&self, key: &str) -> bool {
        self.all || self.members.contains(key)
    }

    pub(super) fn has_item(&self, index: usize) -> bool {
        self.all || self.items.contains(&index)
    }

    fn add_keywords(&mut self, keywords: &'s Map<String, Value>, cursor: Cursor<'_>) {
        let same = cursor.same_value();
        let fits = |part: &&'s Value| accepts(self.document, part, self.value, same);
        let mut parts: Vec<&'s Value> = Vec::new();
        parts.extend(branches(keywords, "allOf").into_iter().flatten());
        for keyword in ["anyOf", "oneOf"] {
            parts.extend(branches(keywords, keyword).into_iter().flatten().filter(fits));
        }
        if let Some(condition) = keywords.get("if") {
            let holds = fits(&condition);
            parts.extend(holds.then_some(condition));
            parts.extend(keywords.get(if holds { "then" } else { "else" }));
        }
        let object = |keyword| keywords.get(keyword).and_then(Value::as_object);
        match self.value {
            Value::Object(members) => {
                let dependent = object("dependentSchemas").into_iter().flatten();
                let applies = |key: &String| members.contains_key(key);
                parts.extend(dependent.filter(|(key, _)| applies(key)).map(|(_, part)| part));
                self.all |= keywords.contains_key("additionalProperties");
                let declared = object("properties").into_iter().flat_map(Map::keys);
                let patterns = object("patternProperties").into_iter().flat_map(Map::keys);
                let patterns: Vec<_> =
                    patterns.map(|source| self.document.pattern(source)).collect();
                let declared: HashSet<&String> = declared.collect();
                // An unsupported pattern may be the one that evaluates a member.
                let matches = |key: &str| {
                    let is_match = |one: &Pattern| one.matches(key);
                    patterns.iter().any(|pattern| pattern.as_deref().is_none_or(is_match))
                };
                let keys = members.keys().filter(|key| declared.contains(key) || matches(key));
                self.members.extend(keys.map(String::as_str));
            }
            Value::Array(items) => {
                let tuple = branches(keywords, "items");
                let rest = if tuple.is_some() { "additionalItems" } else { "items" };
                self.all |= keywords.contains_key(rest);
                let first = tuple.or_else(|| branches(keywords, "prefixItems")).unwrap_or_default();
                self.items.extend(0..first.len());
                if let Some(wanted) = keywords.get("contains") {
                    let matches =
                        |at: &usize| accepts(self.document, wanted, &items[*at], cursor.child());
                    self.items.extend((0..items.len()).filter(matches));
                }
            }
            _ => {}
        }
        parts.into_iter().for_each(|part| self.add(part, same));
        for keyword in self.document.references() {
            let reference = keywords.get(*keyword).and_then(Value::as_str);
            if let Some(reference) = reference
                && let Target::Schema(target) = self.document.follow(reference, cursor)
            {
                let hop = cursor.hop(target);
                self.add(target, cursor.after(&hop));
            }
        }
    }

    /// Adds the parts that a schema for the same value evaluates.
    fn add(&mut self, schema: &'s Value, cursor: Cursor<'_>) {
        let Some(keywords) = schema.as_object() else { return };
        if self.document.step(cursor) {
            let is_object = self.value.is_object();
            let own = if is_object { "unevaluatedProperties" } else { "unevaluatedItems" };
            self.all |= keywords.contains_key(own);
            self.add_keywords(keywords, cursor);
        }
    }
}
