//! The remotes of a git configuration file, read as text.
//!
//! Git itself does not read the file: it can name programs, and an agent may have written it.

use std::collections::BTreeMap;

/// Returns the address of each remote: that for pushes if there is one.
pub(super) fn remotes(text: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    let mut remote: Option<String> = None;
    for line in logical_lines(text) {
        let line = line.trim();
        let rest = match line.strip_prefix('[') {
            Some(rest) => {
                let (name, rest) = section(rest);
                remote = name;
                rest
            }
            None => line.to_owned(),
        };
        let Some(remote) = &remote else { continue };
        let Some((key, text)) = rest.split_once('=') else { continue };
        let addresses = found.entry(remote.clone()).or_default();
        match key.trim().to_ascii_lowercase().as_str() {
            // With several addresses, git fetches from the first one.
            "url" => drop(addresses.0.get_or_insert_with(|| value(text))),
            "pushurl" => drop(addresses.1.get_or_insert_with(|| value(text))),
            _ => {}
        }
    }
    let address = |(name, (fetch, push)): (String, (Option<String>, Option<String>))| {
        Some((name, push.or(fetch)?))
    };
    found.into_iter().filter_map(address).collect()
}

/// Returns the lines, with those joined that end with a backslash.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for line in text.lines() {
        let Some(last) = lines.last_mut() else { break };
        // An even number of backslashes stands for itself.
        let slashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
        if slashes % 2 == 1 {
            last.push_str(line.get(..line.len() - 1).unwrap_or_default());
        } else {
            last.push_str(line);
            lines.push(String::new());
        }
    }
    lines
}

/// Returns the remote that a section header names, and the rest of its line.
fn section(header: &str) -> (Option<String>, String) {
    let mut characters = header.chars();
    let mut kind = String::new();
    let mut name = None;
    while let Some(character) = characters.next() {
        match character {
            ']' => break,
            '"' => {
                let name: &mut String = name.get_or_insert_default();
                while let Some(character) = characters.next() {
                    match character {
                        '"' => break,
                        '\\' => name.extend(characters.next()),
                        other => name.push(other),
                    }
                }
            }
            other => kind.push(other),
        }
    }
    let is_remote = kind.trim().eq_ignore_ascii_case("remote");
    (name.filter(|_| is_remote), characters.collect())
}

/// Returns a value without quotes and comments.
fn value(text: &str) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut characters = text.trim().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => value.extend(characters.next()),
            '#' | ';' if !is_quoted => break,
            other => value.push(other),
        }
    }
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_are_found() {
        let text = "\
[core]
\tfsmonitor = touch /tmp/x
\turl = not-this
; [remote \"comment\"]
[Remote \"origin\"] # the main one
\tURL = https://github.com/acme/widget.git ; comment
\turl = https://second.example/x
\tfetch = +refs/heads/*:refs/remotes/origin/*
[remote \"fork\"]
\turl = \"git@github.com:me/widget.git\"
\tpushurl = git@github.com:\\
me/other.git
[remote \"a\\\"b\"] url = x
[remote \"empty\"]
[branch \"main\"]
\tremote = origin
";
        let found = remotes(text);
        let expected = [
            ("a\"b", "x"),
            ("fork", "git@github.com:me/other.git"),
            ("origin", "https://github.com/acme/widget.git"),
        ];
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, url)| (name.as_str(), url.as_str())).collect();
        assert_eq!(found, expected);
        assert!(remotes("[remote \"x").is_empty() && remotes("\\").is_empty());
    }
}
