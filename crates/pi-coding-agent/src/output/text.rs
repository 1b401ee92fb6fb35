//! The result in the text of an answer: the whole text, or its only code block.
//!
//! JSON somewhere inside of prose is not a result: the first brace may belong to an example.

use serde_json::Value;

/// The marker of a code block.
const FENCE: &str = "```";

/// Finds the result in an answer. The error says what the answer is instead.
pub(crate) fn find_json(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    let whole = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    match blocks(text).as_slice() {
        [block] => serde_json::from_str(block)
            .map_err(|error| format!("the code block is not valid JSON: {error}")),
        [] if text.starts_with(['{', '[']) => Err(format!("the answer is not valid JSON: {whole}")),
        [] => Err("the answer is not JSON".to_owned()),
        blocks => Err(format!("the answer has {} code blocks, expected one", blocks.len())),
    }
}

/// Returns the contents of the code blocks.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with(FENCE);
        match (&mut open, is_fence) {
            (Some(lines), true) => {
                blocks.push(lines.join("\n"));
                open = None;
            }
            (Some(lines), false) => lines.push(line),
            (None, true) => open = Some(Vec::new()),
            (None, false) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_or_a_single_block_is_a_result() {
        let found = [
            ("{\"a\": 1}", "{\"a\":1}"),
            ("  [1, 2]\n", "[1,2]"),
            ("\"text\"", "\"text\""),
            ("null", "null"),
            ("Here it is:\n```json\n{\"a\": 1}\n```\nDone.", "{\"a\":1}"),
            ("```\n[]\n```", "[]"),
        ];
        for (text, expected) in found {
            assert_eq!(find_json(text).unwrap().to_string(), expected, "{text}");
        }
        let missing = [
            ("", "the answer is empty"),
            ("All done.", "the answer is not JSON"),
            ("The result is {\"a\": 1}.", "the answer is not JSON"),
            ("{\"a\": 1} and {\"a\": 2}", "the answer is not valid JSON: trailing characters"),
            ("{\"a\": ", "the answer is not valid JSON: EOF"),
            ("```\n{\n```", "the code block is not valid JSON: EOF"),
            ("```\n1\n```\n```\n2\n```", "the answer has 2 code blocks"),
            ("```\n{}", "the answer is not JSON"),
        ];
        for (text, expected) in missing {
            let error = find_json(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
