//! Calls that wait on purpose. Their repetition is polling, not a loop.

use super::CallRecord;

/// Programs that only wait.
const WAITING_PROGRAMS: &[&str] = &["sleep", "wait", "inotifywait"];

/// Words of a shell before which a command begins, besides separators.
const KEYWORDS: &[&str] = &["do", "then", "else", "while", "until", "if", "!", "time"];

/// Returns true if a call waits: it runs a program that waits or a polling command of the contract,
/// or it waits for a background process.
pub(super) fn is_waiting(call: &CallRecord, polling: &[String]) -> bool {
    let waits = call.arguments.get("action").is_some_and(|action| action == "wait");
    waits
        || call.scripts.iter().any(|script| {
            programs(script).any(|program| WAITING_PROGRAMS.contains(&program))
                || polling.iter().any(|pattern| matches(pattern, script.trim()))
        })
}

/// Returns the first word of each command in a script.
fn programs(script: &str) -> impl Iterator<Item = &str> {
    script.split([';', '&', '|', '\n', '(', ')', '{', '}']).filter_map(|command| {
        command.split_whitespace().find(|word| !KEYWORDS.contains(word) && !word.contains('='))
    })
}

/// Returns true if a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.trim().split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_wait_are_found() {
        for (script, expected) in [
            ("sleep 5; cat status", true),
            ("cat status && sleep 1", true),
            ("while ! test -e done; do sleep 1; done", true),
            ("(sleep 2)", true),
            ("A=1 sleep 2", true),
            ("echo sleep", false),
            ("grep sleep src/main.rs", false),
            ("cat status", false),
        ] {
            let call = CallRecord { scripts: vec![script.to_owned()], ..CallRecord::default() };
            assert_eq!(is_waiting(&call, &[]), expected, "{script}");
        }
    }

    #[test]
    fn patterns_match_whole_commands() {
        for (pattern, text, expected) in [
            ("gh run view *", "gh run view 17 --json status", true),
            ("gh run view", "gh run view 17", false),
            ("curl *health*", "curl -s http://localhost/health -o x", true),
            ("curl *health", "curl -s http://localhost/health -o x", false),
            ("*", "anything", true),
            ("cat status", "cat status", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
