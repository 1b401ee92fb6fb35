//! Rules about a text: finding and removing what they forbid. Pure.

use std::borrow::Cow;

use pi_guard::secrets::Secrets;
use regex_lite::NoExpand;
use serde_json::Value;

use super::Guardrail;

impl Guardrail {
    /// Returns the finding of the rule in the texts; `None` if there is none.
    pub fn finding(&self, texts: &[&str], secrets: &Secrets) -> Option<String> {
        let rule = self.plan().rule.as_ref()?;
        if let Some(regex) = &self.matches
            && texts.iter().any(|text| regex.is_match(text))
        {
            return Some(format!("it matches `{regex}`"));
        }
        if let Some(regex) = &self.lacks
            && !texts.iter().any(|text| regex.is_match(text))
        {
            return Some(format!("it does not match `{regex}`"));
        }
        let count: usize = texts.iter().map(|text| text.chars().count()).sum();
        if let Some(most) = rule.max_chars
            && count > most
        {
            return Some(format!("it has {count} characters, of at most {most}"));
        }
        let is_secret = |text: &&str| {
            Secrets::has_placeholder(text) || matches!(secrets.redact(text), Cow::Owned(_))
        };
        if rule.contains_secret && texts.iter().any(is_secret) {
            return Some("it contains a credential".to_owned());
        }
        None
    }

    /// Removes the findings of the rule from a text.
    fn rewritten(&self, text: &str, secrets: &Secrets) -> String {
        let Some(rule) = &self.plan().rule else { return text.to_owned() };
        let mut text = text.to_owned();
        if rule.contains_secret {
            text = secrets.redact(&text).into_owned();
        }
        if let Some(regex) = &self.matches {
            text = regex.replace_all(&text, NoExpand(self.replacement())).into_owned();
        }
        if let Some(regex) = &self.lacks
            && !regex.is_match(&text)
        {
            text = self.replacement().to_owned();
        }
        if let Some(most) = rule.max_chars
            && let Some((end, _)) = text.char_indices().nth(most)
        {
            text.truncate(end);
        }
        text
    }

    /// Removes the findings of the rule from every string of a value.
    pub fn rewrite_value(&self, value: &mut Value, secrets: &Secrets) {
        match value {
            Value::String(text) => *text = self.rewritten(text, secrets),
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.rewrite_value(value, secrets));
            }
            Value::Object(fields) => {
                fields.values_mut().for_each(|value| self.rewrite_value(value, secrets));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the strings of a value, names of fields included.
pub fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(fields) => {
            let named =
                |(name, value)| std::iter::once::<&str>(String::as_str(name)).chain(strings(value));
            fields.iter().flat_map(named).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn guardrail(rule: &Value) -> Guardrail {
        let written = json!({ "name": "test", "on": "output", "rule": rule, "action": "rewrite",
            "replaceWith": "-" });
        serde_json::from_value(written).unwrap()
    }

    #[test]
    fn findings_are_named_and_removed() {
        let secrets = Secrets::new(["hunter2-hunter2-hunter2".to_owned()]);
        let key = "the key is hunter2-hunter2-hunter2";
        let cases = [
            (json!({ "matches": "(?i)password" }), "My Password is", "it matches", "My - is"),
            (json!({ "matches": "a+" }), "banana $0", "it matches", "b-n-n- $0"),
            (json!({ "lacks": "^OK" }), "no", "it does not match", "-"),
            (json!({ "maxChars": 3 }), "größe", "it has 5 characters, of at most 3", "grö"),
        ];
        for (rule, text, finding, rewritten) in cases {
            let guardrail = guardrail(&rule);
            let found = guardrail.finding(&[text], &secrets).unwrap();
            assert!(found.starts_with(finding), "{found}");
            assert_eq!(guardrail.rewritten(text, &secrets), rewritten);
        }
        let secret = guardrail(&json!({ "containsSecret": true }));
        assert_eq!(secret.finding(&[key], &secrets).unwrap(), "it contains a credential");
        assert!(!secret.rewritten(key, &secrets).contains("hunter2"));
        assert_eq!(secret.finding(&["nothing"], &secrets), None);
        let both = guardrail(&json!({ "lacks": "^OK", "matches": "bad" }));
        assert_eq!(both.finding(&["OK"], &secrets), None);
        assert!(both.finding(&["OK bad"], &secrets).is_some());
    }

    #[test]
    fn values_are_searched_and_rewritten_in_depth() {
        let secrets = Secrets::new([]);
        let guardrail = guardrail(&json!({ "matches": "bad" }));
        let mut value = json!({ "a": ["bad", 1, { "b": "not bad" }], "c": null });
        assert!(guardrail.finding(&strings(&value), &secrets).is_some());
        guardrail.rewrite_value(&mut value, &secrets);
        assert_eq!(value, json!({ "a": ["-", 1, { "b": "not -" }], "c": null }));
        assert_eq!(guardrail.finding(&strings(&value), &secrets), None);
    }
}
