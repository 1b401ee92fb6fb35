//! A program of the user's configuration that prints keys: `credential_process`.

use super::keys::KeysDocument;
use crate::aws::AwsKeys;
use crate::cloud::{SourceError, Surroundings};

/// Runs the program and returns its keys. Errors must not quote the output.
pub(super) async fn keys(
    surroundings: &Surroundings,
    command: &str,
    profile: &str,
) -> Result<AwsKeys, SourceError> {
    let name = format!("credential_process of profile {profile:?}");
    let failed = |problem: &str| SourceError::new(format!("{name} {problem}"));
    let words = words(command).ok_or_else(|| failed("has an unclosed quotation mark"))?;
    if words.is_empty() {
        return Err(failed("is empty"));
    }
    let output = surroundings.run(words).await;
    let output = output.map_err(|error| failed(&format!("failed: {error}")))?;
    let document: KeysDocument = serde_json::from_str(&output)
        .map_err(|_| failed("did not print the JSON document that it should"))?;
    if document.version != Some(1) {
        return Err(failed("did not print a document of version 1"));
    }
    let keys = document.keys(&name)?;
    if keys.expires.is_some_and(|expires| expires <= std::time::SystemTime::now()) {
        return Err(failed("printed keys that have expired"));
    }
    Ok(keys)
}

/// Splits a command line at spaces. Quotation marks and backslashes work as in a shell; nothing else
/// does. `None` if a quotation mark is not closed.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars().peekable();
    while let Some(one) = chars.next() {
        match one {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' if matches!(chars.peek(), Some('"' | '\\')) => {
                            word.extend(chars.next());
                        }
                        other => word.push(other),
                    }
                }
            }
            '\\' if !cfg!(windows) => word.get_or_insert_default().extend(chars.next()),
            one if one.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let rows: &[(&str, Option<&[&str]>)] = &[
            ("a  b\tc", Some(&["a", "b", "c"])),
            (r#""/opt/my tool" --x='a "b"' """#, Some(&["/opt/my tool", r#"--x=a "b""#, ""])),
            (r#"a "b \"c\" \\ \n""#, Some(&["a", r#"b "c" \ \n"#])),
            ("$(x) | y > z", Some(&["$(x)", "|", "y", ">", "z"])),
            ("", Some(&[])),
            ("a 'b", None),
            ("a \"b", None),
        ];
        for (command, expected) in rows {
            let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
            assert_eq!(words(command), expected, "{command}");
        }
    }
}
