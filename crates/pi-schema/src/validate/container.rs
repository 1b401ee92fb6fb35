//! Keywords for lists and objects.

use std::collections::HashMap;

use serde_json::Value;

use super::{Keywords, Node, Validator};
use crate::document::branches;
use crate::mismatch::Detail;
use crate::{json, number};

impl<'s, 'v> Validator<'_, 's, 'v> {
    pub(super) fn check_list(&mut self, node: Node<'_, 's, 'v>, items: &'v [Value]) {
        // A list of schemas in `items` is the older form of `prefixItems`.
        let tuple = branches(node.keywords, "items");
        let rest = node.get(if tuple.is_some() { "additionalItems" } else { "items" });
        let first = tuple.or_else(|| branches(node.keywords, "prefixItems")).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            if self.is_settled() {
                return;
            }
            if let Some(schema) = first.get(index).or(rest) {
                self.check(schema, item, node.at.child(&node.at.index(index)));
            }
        }
        self.check_count(node, ["minItems", "maxItems"], || items.len());
        if let Some(expected @ Value::Bool(true)) = node.get("uniqueItems") {
            let mut seen = HashMap::new();
            let equal = items.iter().enumerate().find_map(|(index, item)| {
                seen.insert(json::identity(item), index).map(|before| (before, index))
            });
            if let Some((before, index)) = equal {
                self.report(node, "uniqueItems", expected, Detail::Pair(before, index));
            }
        }
        if let Some(wanted) = node.get("contains") {
            self.check_contains(node, wanted, items);
        }
    }

    fn check_contains(&mut self, node: Node<'_, 's, 'v>, wanted: &'s Value, items: &[Value]) {
        let matches = |item: &&Value| self.accepts(wanted, item, node.at.cursor.child());
        let (count, certain) = self.document.is_certain(|| items.iter().filter(matches).count());
        // Exact up to 2^53, and no list is longer.
        let count = count as f64;
        let limit = |keyword| node.get(keyword).and_then(number::of_keyword);
        let too_few = count < limit("minContains").unwrap_or(1.0);
        let too_many = certain && limit("maxContains").is_some_and(|most| count > most);
        if too_few || too_many {
            self.report(node, "contains", wanted, Detail::None);
        }
    }

    pub(super) fn check_object(&mut self, node: Node<'_, 's, 'v>, members: &'v Keywords) {
        let required = node.get("required").unwrap_or(&Value::Null);
        for name in strings(required) {
            if !members.contains_key(name) {
                self.report(node, "required", required, Detail::Member(name.to_owned()));
            }
        }
        let properties = node.get("properties").and_then(Value::as_object);
        for (key, schema) in properties.into_iter().flatten() {
            if let Some(member) = members.get(key) {
                self.check(schema, member, node.at.child(&node.at.key(key)));
            }
        }
        self.check_other_members(node, members);
        self.check_count(node, ["minProperties", "maxProperties"], || members.len());
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let dependencies = node.get(keyword).and_then(Value::as_object);
            for (key, wanted) in dependencies.into_iter().flatten() {
                if !members.contains_key(key) {
                    continue;
                }
                if !wanted.is_array() {
                    self.check(wanted, node.value, node.at.same_value());
                }
                for name in strings(wanted).filter(|name| !members.contains_key(*name)) {
                    let (missing, present) = (name.to_owned(), key.clone());
                    self.report(node, keyword, wanted, Detail::Dependency { missing, present });
                }
            }
        }
    }

    /// Checks the keywords that apply to members by pattern, by name, or because no other does.
    fn check_other_members(&mut self, node: Node<'_, 's, 'v>, members: &'v Keywords) {
        let properties = node.get("properties").and_then(Value::as_object);
        let patterns = node.get("patternProperties").and_then(Value::as_object);
        let additional = node.get("additionalProperties");
        let names = node.get("propertyNames");
        if patterns.is_none() && additional.is_none() && names.is_none() {
            return;
        }
        for (key, member) in members {
            if self.is_settled() {
                return;
            }
            let path = node.at.key(key);
            let mut is_additional = properties.is_none_or(|known| !known.contains_key(key));
            for (source, schema) in patterns.into_iter().flatten() {
                match self.document.pattern(source) {
                    Some(pattern) if pattern.matches(key) => {
                        is_additional = false;
                        self.check(schema, member, node.at.child(&path));
                    }
                    Some(_) => {}
                    // The unsupported pattern may be the one that allows the member.
                    None => {
                        is_additional = false;
                        self.document.skip();
                    }
                }
            }
            match additional {
                Some(none @ Value::Bool(false)) if is_additional => {
                    self.report(node, "additionalProperties", none, Detail::Member(key.clone()));
                }
                Some(schema) if is_additional => self.check(schema, member, node.at.child(&path)),
                _ => {}
            }
            if let Some(names) = names
                && !self.accepts(names, &Value::from(key.as_str()), node.at.cursor.child())
            {
                self.report(node, "propertyNames", names, Detail::Member(key.clone()));
            }
        }
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
