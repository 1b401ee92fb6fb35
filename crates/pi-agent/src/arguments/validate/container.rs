//! Keywords for lists and objects.

use std::collections::HashSet;

use serde_json::Value;

use super::{Keywords, Location, Validator};
use crate::arguments::schema::branches;
use crate::arguments::{json, number};

impl<'s> Validator<'_, 's> {
    pub(super) fn check_list(&mut self, keywords: &'s Keywords, items: &[Value], at: Location<'_>) {
        // A list of schemas in `items` is the older form of `prefixItems`.
        let tuple = branches(keywords, "items");
        let rest = keywords.get(if tuple.is_some() { "additionalItems" } else { "items" });
        let first = tuple.or_else(|| branches(keywords, "prefixItems")).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            if self.is_settled() {
                return;
            }
            if let Some(node) = first.get(index).or(rest) {
                self.check(node, item, at.child(&at.index(index)));
            }
        }
        self.check_count(keywords, "Items", "items", || items.len(), at);
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(json::identity(item))) {
                self.report(at.path, || "expected unique items".to_owned());
            }
        }
        if let Some(wanted) = keywords.get("contains") {
            self.check_contains(keywords, wanted, items, at);
        }
    }

    fn check_contains(
        &mut self,
        keywords: &'s Keywords,
        wanted: &'s Value,
        items: &[Value],
        at: Location<'_>,
    ) {
        let matches = |item: &&Value| self.accepts(wanted, item, at.cursor.child());
        let (count, certain) = self.schema.is_certain(|| items.iter().filter(matches).count());
        // Exact up to 2^53, and no list is longer.
        let count = count as f64;
        let limit = |keyword| number::of_keyword(keywords.get(keyword));
        let (least, most) = (limit("minContains"), limit("maxContains"));
        let too_few = count < least.map_or(1.0, |(_, least)| least);
        let too_many = certain && most.is_some_and(|(_, most)| count > most);
        if too_few || too_many {
            self.report(at.path, || {
                let least =
                    least.map_or_else(|| "1".to_owned(), |(least, _)| number::to_text(least));
                match most {
                    Some((most, _)) => {
                        let most = number::to_text(most);
                        format!("expected between {least} and {most} matching items")
                    }
                    None if least == "1" => "expected at least 1 matching item".to_owned(),
                    None => format!("expected at least {least} matching items"),
                }
            });
        }
    }

    /// Checks the `members` of the object `value`.
    pub(super) fn check_object(
        &mut self,
        keywords: &'s Keywords,
        members: &Keywords,
        value: &Value,
        at: Location<'_>,
    ) {
        for name in strings(keywords.get("required")) {
            if !members.contains_key(name) {
                self.report(Some(&at.key(name)), || "missing".to_owned());
            }
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        for (key, node) in properties.into_iter().flatten() {
            if let Some(member) = members.get(key) {
                self.check(node, member, at.child(&at.key(key)));
            }
        }
        self.check_other_members(keywords, members, at);
        self.check_count(keywords, "Properties", "properties", || members.len(), at);
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let dependencies = keywords.get(keyword).and_then(Value::as_object);
            for (key, wanted) in dependencies.into_iter().flatten() {
                if !members.contains_key(key) {
                    continue;
                }
                if !wanted.is_array() {
                    self.check(wanted, value, at.same_value());
                }
                for name in strings(Some(wanted)) {
                    if !members.contains_key(name) {
                        let message = || format!("required when {key} is present");
                        self.report(Some(&at.key(name)), message);
                    }
                }
            }
        }
    }

    /// Checks the keywords that apply to members by pattern, by name, or because no other does.
    fn check_other_members(
        &mut self,
        keywords: &'s Keywords,
        members: &Keywords,
        at: Location<'_>,
    ) {
        let properties = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let additional = keywords.get("additionalProperties");
        let names = keywords.get("propertyNames");
        if patterns.is_none() && additional.is_none() && names.is_none() {
            return;
        }
        for (key, member) in members {
            if self.is_settled() {
                return;
            }
            let path = at.key(key);
            let mut is_additional = properties.is_none_or(|known| !known.contains_key(key));
            for (source, node) in patterns.into_iter().flatten() {
                match self.schema.pattern(source) {
                    Some(pattern) if pattern.matches(key) => {
                        is_additional = false;
                        self.check(node, member, at.child(&path));
                    }
                    Some(_) => {}
                    // The unsupported pattern may be the one that allows the member.
                    None => {
                        is_additional = false;
                        self.schema.skip();
                    }
                }
            }
            match additional {
                Some(Value::Bool(false)) if is_additional => {
                    self.report(Some(&path), || "unknown field".to_owned());
                }
                Some(node) if is_additional => self.check(node, member, at.child(&path)),
                _ => {}
            }
            if let Some(names) = names
                && !self.accepts(names, &Value::from(key.as_str()), at.cursor.child())
            {
                self.report(Some(&path), || "invalid property name".to_owned());
            }
        }
    }
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
