//! Keywords that combine schemas, and the choice of the problems to report.
//!
//! If no branch of a union accepts a value, every branch has problems, and those of all branches
//! but one are misleading. The model reads those of the branch that it most likely meant.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Goal, Keywords, Location, Validator};
use crate::arguments::json;
use crate::arguments::schema::branches;

impl<'s> Validator<'_, 's> {
    pub(super) fn check_combinations(
        &mut self,
        keywords: &'s Keywords,
        value: &Value,
        at: Location<'_>,
    ) {
        let cursor = at.cursor.same_value();
        for part in branches(keywords, "allOf").into_iter().flatten() {
            self.check(part, value, at.same_value());
        }
        if let Some(union) = branches(keywords, "anyOf")
            && !union.iter().any(|branch| self.accepts(branch, value, cursor))
        {
            self.report_closest_branch(union, value, at);
        }
        if let Some(union) = branches(keywords, "oneOf") {
            let accepting = union.iter().filter(|branch| self.accepts(branch, value, cursor));
            match self.schema.is_certain(|| accepting.take(2).count()) {
                (0, _) => self.report_closest_branch(union, value, at),
                (2, true) => {
                    self.report(at.path, || "matches more than one alternative".to_owned());
                }
                _ => {}
            }
        }
        if let Some(refused) = keywords.get("not")
            && (refused.is_object() || refused.is_boolean())
            && self.schema.is_certain(|| self.accepts(refused, value, cursor)) == (true, true)
        {
            self.report(at.path, || "must not match the schema in not".to_owned());
        }
        if let Some(condition) = keywords.get("if") {
            let (holds, certain) =
                self.schema.is_certain(|| self.accepts(condition, value, cursor));
            let consequence = keywords.get(if holds { "then" } else { "else" });
            // A condition that was not checked in full counts as met, but has no consequence.
            if let Some(consequence) = consequence
                && (certain || !holds)
            {
                self.check(consequence, value, at.same_value());
            }
        }
    }

    /// Reports the problems of one branch of a union that does not accept the value.
    fn report_closest_branch(&mut self, union: &'s [Value], value: &Value, at: Location<'_>) {
        if self.goal == Goal::Decide {
            self.failed = true;
            return;
        }
        let problems = |branch| {
            let mut validator = Validator::new(self.schema, Goal::List);
            validator.check(branch, value, at.same_value());
            validator
        };
        let closest = match self.tagged_branch(union, value) {
            Some(Tag::Names(branch)) => Some(problems(branch)),
            Some(Tag::Unknown { key, tags }) => {
                return self.report(Some(&at.key(key)), || {
                    format!("expected one of {}", json::compact(&tags))
                });
            }
            // The branch that declares most of the members, then the one whose first problem has
            // the longest path and is probably the deepest, then the first.
            None => union
                .iter()
                .map(|branch| {
                    let problems = problems(branch);
                    let length = problems.problems.first().map_or(0, |(length, _)| *length);
                    ((self.shared_members(branch, value), length), problems)
                })
                .reduce(|best, next| if next.0 > best.0 { next } else { best })
                .map(|(_, problems)| problems),
        };
        match closest {
            Some(closest) if closest.failed => {
                self.failed = true;
                self.problems.extend(closest.problems);
            }
            _ => self.report(at.path, || "matches no alternative".to_owned()),
        }
    }

    /// Evaluates a property that every branch declares as a different constant.
    fn tagged_branch(&self, union: &'s [Value], value: &Value) -> Option<Tag<'s>> {
        let members = value.as_object()?;
        let properties: Vec<&'s Map<String, Value>> =
            union.iter().map(|branch| self.properties(branch)).collect::<Option<_>>()?;
        let (key, tags) = properties.first()?.keys().find_map(|key| {
            let tags = properties.iter().map(|properties| constant(properties, key));
            let tags: Vec<&Value> = tags.collect::<Option<_>>()?;
            let distinct: HashSet<_> = tags.iter().map(|tag| json::identity(tag)).collect();
            (distinct.len() == tags.len()).then_some((key, tags))
        })?;
        let given = members.get(key);
        let is_named = |tag: &&Value| given.is_some_and(|given| json::equal(tag, given));
        Some(match tags.iter().position(is_named) {
            Some(index) => Tag::Names(&union[index]),
            None => Tag::Unknown { key, tags: tags.into_iter().cloned().collect() },
        })
    }

    /// Returns the number of members of the value that a branch declares.
    fn shared_members(&self, branch: &'s Value, value: &Value) -> usize {
        match (value, self.properties(branch)) {
            (Value::Object(members), Some(properties)) => {
                members.keys().filter(|key| properties.contains_key(*key)).count()
            }
            _ => 0,
        }
    }

    fn properties(&self, branch: &'s Value) -> Option<&'s Map<String, Value>> {
        self.schema.dereferenced(branch).get("properties")?.as_object()
    }
}

/// The branch of a union that a property of the value selects.
enum Tag<'s> {
    Names(&'s Value),
    /// The property is absent or selects no branch.
    Unknown {
        key: &'s str,
        tags: Value,
    },
}

/// Returns the scalar constant that a property has to be.
fn constant<'s>(properties: &'s Map<String, Value>, key: &str) -> Option<&'s Value> {
    let constant = properties.get(key)?.get("const")?;
    (!constant.is_object() && !constant.is_array()).then_some(constant)
}
