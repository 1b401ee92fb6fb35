//! Keywords that combine schemas, and the keywords for parts that no other keyword evaluates.

use serde_json::Value;

use super::evaluated::Evaluated;
use super::{Goal, Node, Validator};
use crate::document::{Keywords, branches};
use crate::mismatch::Detail;

impl<'s, 'v> Validator<'_, 's, 'v> {
    pub(super) fn check_combinations(&mut self, node: Node<'_, 's, 'v>) {
        let (value, cursor) = (node.value, node.at.cursor.same_value());
        for part in branches(node.keywords, "allOf").into_iter().flatten() {
            self.check(part, value, node.at.same_value());
        }
        if let Some(expected @ Value::Array(union)) = node.get("anyOf")
            && !union.iter().any(|branch| self.accepts(branch, value, cursor))
        {
            self.report_alternatives(node, "anyOf", expected, union);
        }
        if let Some(expected @ Value::Array(union)) = node.get("oneOf") {
            let accepts = |at: &usize| self.accepts(&union[*at], value, cursor);
            let accepting = (0..union.len()).filter(accepts).take(2);
            let (accepting, certain) = self.document.is_certain(|| accepting.collect::<Vec<_>>());
            match accepting[..] {
                [] => self.report_alternatives(node, "oneOf", expected, union),
                [first, second] if certain => {
                    self.report(node, "oneOf", expected, Detail::Pair(first, second));
                }
                _ => {}
            }
        }
        if let Some(refused) = node.get("not")
            && (refused.is_object() || refused.is_boolean())
            && self.document.is_certain(|| self.accepts(refused, value, cursor)) == (true, true)
        {
            self.report(node, "not", refused, Detail::None);
        }
        if let Some(condition) = node.get("if") {
            let (holds, certain) =
                self.document.is_certain(|| self.accepts(condition, value, cursor));
            let consequence = node.get(if holds { "then" } else { "else" });
            // A condition that was not checked in full counts as met, but has no consequence.
            if let Some(consequence) = consequence
                && (certain || !holds)
            {
                self.check(consequence, value, node.at.same_value());
            }
        }
    }

    /// Reports the mismatches with each alternative of a union that does not accept the value.
    fn report_alternatives(
        &mut self,
        node: Node<'_, 's, 'v>,
        keyword: &'static str,
        expected: &'s Value,
        union: &'s [Value],
    ) {
        if self.goal == Goal::Decide {
            self.failed = true;
            return;
        }
        let mismatches = |branch| {
            let mut validator = Validator::new(self.document, Goal::List);
            validator.check(branch, node.value, node.at.same_value());
            validator.mismatches
        };
        let alternatives = Detail::Alternatives(union.iter().map(mismatches).collect());
        self.report(node, keyword, expected, alternatives);
    }

    /// Checks the members and items that no other keyword of the schema evaluates.
    pub(super) fn check_unevaluated(&mut self, node: Node<'_, 's, 'v>) {
        let keyword = match node.value {
            Value::Object(_) => "unevaluatedProperties",
            Value::Array(_) => "unevaluatedItems",
            _ => return,
        };
        let Some(schema) = node.get(keyword) else { return };
        if self.document.keywords == Keywords::OfTools {
            return;
        }
        let evaluated = Evaluated::by(self.document, node.keywords, node.value, node.at.cursor);
        for (key, member) in node.value.as_object().into_iter().flatten() {
            if evaluated.has_member(key) {
                continue;
            }
            if schema == &Value::Bool(false) {
                self.report(node, keyword, schema, Detail::Member(key.clone()));
            } else {
                self.check(schema, member, node.at.child(&node.at.key(key)));
            }
        }
        for (index, item) in node.value.as_array().into_iter().flatten().enumerate() {
            if !evaluated.has_item(index) {
                self.check(schema, item, node.at.child(&node.at.index(index)));
            }
        }
    }
}
