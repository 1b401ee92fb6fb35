//! Keywords for lists.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::scalar::check_count;
use super::{At, Found, accepts, check};
use crate::arguments::schema::Schema;
use crate::arguments::{json, number};

pub(super) fn check_list<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    items: &[Value],
    at: At<'_>,
    found: &mut Found,
) {
    check_items(schema, keywords, items, at, found);
    check_count(keywords, "Items", "items", || items.len(), at, found);
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        let mut seen = HashSet::new();
        if !items.iter().all(|item| seen.insert(json::identity(item))) {
            found.add(at.path, || "expected unique items".to_owned());
        }
    }
    if let Some(wanted) = keywords.get("contains") {
        check_contains(schema, keywords, wanted, items, at, found);
    }
}

fn check_items<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    items: &[Value],
    at: At<'_>,
    found: &mut Found,
) {
    // A list of schemas in `items` is the older way to write `prefixItems`.
    let (first, rest): (&[Value], _) = match (keywords.get("items"), keywords.get("prefixItems")) {
        (Some(Value::Array(first)), _) => (first, keywords.get("additionalItems")),
        (rest, Some(Value::Array(first))) => (first, rest),
        (rest, _) => (&[], rest),
    };
    for (index, item) in items.iter().enumerate() {
        if found.is_settled() {
            return;
        }
        if let Some(about) = first.get(index).or(rest) {
            check(schema, about, item, at.inside(&at.item(index)), found);
        }
    }
}

fn check_contains<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    wanted: &'s Value,
    items: &[Value],
    at: At<'_>,
    found: &mut Found,
) {
    let inside = at.place.inside();
    let (count, sure) =
        schema.surely(|| items.iter().filter(|item| accepts(schema, wanted, item, inside)).count());
    // Exact up to 2^53, and no list is longer.
    let count = count as f64;
    let limit = |keyword| number::of_keyword(keywords.get(keyword));
    let (least, most) = (limit("minContains"), limit("maxContains"));
    let too_few = count < least.map_or(1.0, |(_, least)| least);
    let too_many = sure && most.is_some_and(|(_, most)| count > most);
    if too_few || too_many {
        found.add(at.path, || {
            let least = least.map_or_else(|| "1".to_owned(), |(least, _)| number::to_text(least));
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
