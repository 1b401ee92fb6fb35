//! The options line: the optional first line of a script.

use std::time::Duration;

use serde_json::Value;

/// Beginning of an options line.
const MARK: &str = "// @options:";

/// Tokens of output unless the script asks for another number.
const DEFAULT_OUTPUT_TOKENS: u64 = 10_000;

/// Longest deadline that a script can ask for.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The options of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    /// Tokens of output that the model reads.
    pub(super) max_output_tokens: usize,
    /// Deadline of the whole script, the wait for a free worker included.
    pub(super) timeout: Option<Duration>,
}

/// Parses the options line of a script. The error tells the model how to write one.
pub(super) fn parse(code: &str) -> Result<Options, String> {
    if code.trim().is_empty() {
        return Err(format!(
            "The script is empty. Write JavaScript, optionally after a first line such as \
             `{MARK} {{\"max_output_tokens\": 1000}}`."
        ));
    }
    let is_options = |line: &str| line.trim_start().starts_with(MARK);
    if let Some(at) = code.lines().skip(1).position(is_options) {
        return Err(format!(
            "The {MARK} line must be the first line of the script; line {} has one.",
            at + 2
        ));
    }
    let first = code.lines().next().unwrap_or_default().trim_start();
    let Some(text) = first.strip_prefix(MARK) else { return Ok(Options::default()) };
    let given: Value = serde_json::from_str(text.trim())
        .map_err(|error| format!("The {MARK} line is not a JSON object: {error}."))?;
    let Value::Object(given) = given else {
        return Err(format!("The {MARK} line is not a JSON object."));
    };
    let mut options = Options::default();
    for (name, value) in given {
        let number = value.as_u64().filter(|number| *number > 0);
        let number = || number.ok_or_else(|| format!("{MARK} `{name}` is not a positive integer."));
        match name.as_str() {
            "max_output_tokens" => {
                let tokens = number()?.min(DEFAULT_OUTPUT_TOKENS * 10);
                options.max_output_tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
            }
            "timeout_ms" => {
                options.timeout = Some(Duration::from_millis(number()?).min(MAX_TIMEOUT));
            }
            _ => {
                return Err(format!(
                    "{MARK} knows `max_output_tokens` and `timeout_ms`, not `{name}`."
                ));
            }
        }
    }
    Ok(options)
}

impl Default for Options {
    fn default() -> Self {
        Self { max_output_tokens: DEFAULT_OUTPUT_TOKENS as usize, timeout: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_has_the_options() {
        let cases = [
            ("text(1)", Ok((10_000, None))),
            ("// @options: {\"max_output_tokens\": 5}\ntext(1)", Ok((5, None))),
            ("  // @options: {\"timeout_ms\": 1500}\n", Ok((10_000, Some(1500)))),
            ("// @options: {}\n", Ok((10_000, None))),
            ("  \n ", Err("The script is empty")),
            ("a\n// @options: {}", Err("line 2 has one")),
            ("// @options: [1]", Err("not a JSON object")),
            ("// @options: {", Err("not a JSON object")),
            ("// @options: {\"timeout_ms\": -1}", Err("not a positive integer")),
            ("// @options: {\"timeout\": 1}", Err("not `timeout`")),
        ];
        for (code, expected) in cases {
            let parsed = parse(code);
            match expected {
                Ok((tokens, timeout)) => {
                    let timeout = timeout.map(Duration::from_millis);
                    let expected = Options { max_output_tokens: tokens, timeout };
                    assert_eq!(parsed, Ok(expected), "{code}");
                }
                Err(part) => assert!(parsed.unwrap_err().contains(part), "{code}"),
            }
        }
    }
}
