//! Reader of `~/.aws/config` and `~/.aws/credentials`. Pure.

use std::collections::BTreeMap;

/// The settings of a section, with names in lower case.
pub(super) type Section = BTreeMap<String, String>;

/// Reads a file. Sections of the same name are merged; a later setting wins. Lines that are not
/// understood are skipped, as the AWS tools do.
pub(super) fn parse(text: &str) -> BTreeMap<String, Section> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let mut current: Option<String> = None;
    // Indented lines after a setting without a value belong to that setting.
    let mut is_nested = false;
    for line in text.lines() {
        let is_indented = line.starts_with([' ', '\t']);
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name = section_name(name);
            sections.entry(name.clone()).or_default();
            current = Some(name);
            is_nested = false;
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        if is_indented && is_nested {
            continue;
        }
        is_nested = value.is_empty();
        let section = current.as_ref().and_then(|current| sections.get_mut(current));
        if let Some(section) = section
            && !name.is_empty()
            && !value.is_empty()
        {
            section.insert(name, value.to_owned());
        }
    }
    sections
}

/// Returns the name of a section with single spaces and without quotes: `profile work`.
fn section_name(text: &str) -> String {
    let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.collect::<Vec<_>>().join(" ")
}

/// Removes a comment, which begins the line or follows a space.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (index, one) in line.char_indices() {
        if matches!(one, '#' | ';') && before.is_whitespace() {
            return line.get(..index).unwrap_or_default();
        }
        before = one;
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_with_everything() {
        let text = "
# comment
stray = before any section
[default]
region=eu-west-1 ; comment
  output = json
s3 =
  max_concurrent_requests = 20
aws_secret_access_key = a#b;c=/+
[profile  \"my work\"]  # comment
ROLE_ARN = arn:aws:iam::1:role/x
not a setting
 = no name
[sso-session corp]
sso_region = us-east-1
[default]
region = us-west-2
";
        let sections = parse(text);
        let names: Vec<&str> = sections.keys().map(String::as_str).collect();
        assert_eq!(names, ["default", "profile my work", "sso-session corp"]);
        let default: Vec<_> =
            sections["default"].iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            default,
            [("aws_secret_access_key", "a#b;c=/+"), ("output", "json"), ("region", "us-west-2")]
        );
        assert_eq!(sections["profile my work"]["role_arn"], "arn:aws:iam::1:role/x");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]a-c= #;\n\t\"é]{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn written_sections_are_read(
            file in prop::collection::btree_map(
                "[a-z]{1,8}",
                prop::collection::btree_map("[a-z_]{1,8}", "[A-Za-z0-9/+=:#;]{1,20}", 0..5),
                0..5,
            )
        ) {
            // A comment sign at the beginning of a value follows a space.
            let mut text = String::new();
            for (name, section) in &file {
                text.push_str(&format!("[{name}]\n"));
                for (name, value) in section {
                    text.push_str(&format!("{name}=x{value}\r\n"));
                }
            }
            let expected: BTreeMap<String, Section> = file
                .into_iter()
                .map(|(name, section)| {
                    (name, section.into_iter().map(|(k, v)| (k, format!("x{v}"))).collect())
                })
                .collect();
            prop_assert_eq!(parse(&text), expected);
        }
    }
}
