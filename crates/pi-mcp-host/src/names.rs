//! Names of the tools of a server, as models see them.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use pi_config::mcp::namespace;

/// The longest name that all providers accept.
const LONGEST: usize = 64;

/// Length of the hash that makes a name unique, with its separator.
const HASH: usize = 9;

/// Returns the name of a server's tool in sessions and in rules. `tools` are all tools of the server:
/// names that two of them would share end with a hash.
pub fn tool_name(server: &str, tools: &[&str], tool: &str) -> String {
    let all: Vec<&str> =
        tools.iter().copied().filter(|other| *other != tool).chain([tool]).collect();
    tool_names(server, &all, |_| false).pop().unwrap_or_default()
}

/// Returns a name for each tool of a server, in order. A name that is too long, that two tools of
/// the server share, or that `is_taken` by another server ends with a hash.
pub(crate) fn tool_names(
    server: &str,
    tools: &[&str],
    is_taken: impl Fn(&str) -> bool,
) -> Vec<String> {
    let wanted = |tool: &str| format!("{}__{}", namespace(server), plain(tool));
    let mut owners: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for tool in tools {
        owners.entry(wanted(tool)).or_default().insert(tool);
    }
    let name = |tool: &&str| {
        let wanted = wanted(tool);
        let is_shared = owners.get(&wanted).is_some_and(|owners| owners.len() > 1);
        if wanted.len() > LONGEST || is_shared || is_taken(&wanted) {
            return hashed(&wanted, server, tool);
        }
        wanted
    };
    tools.iter().map(name).collect()
}

fn hashed(name: &str, server: &str, tool: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(server);
    hash.update([0]);
    hash.update(tool);
    let hex = pi_base::text::hex(&hash.finalize()[..4]);
    // The name is ASCII.
    let kept = name.get(..LONGEST - HASH).unwrap_or(name);
    format!("{kept}_{hex}")
}

/// Replaces everything but ASCII letters, digits and `_`.
fn plain(text: &str) -> String {
    let replaced = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    replaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[&str]) -> Vec<String> {
        tool_names("my-t", tools, |_| false)
    }

    #[test]
    fn names_are_plain_and_unique() {
        assert_eq!(names(&["echo", "get.Sum-2"]), ["mcp__my_t__echo", "mcp__my_t__get_Sum_2"]);
        assert_eq!(names(&["ctl\u{7}\u{200b}"]), ["mcp__my_t__ctl__"]);
        // Hashes as other programs make them, so that sessions can be continued there.
        assert_eq!(
            names(&["weird name/with.dots-and-dash", "weird name/with_dots-and-dash"]),
            [
                "mcp__my_t__weird_name_with_dots_and_dash_61c30e01",
                "mcp__my_t__weird_name_with_dots_and_dash_fa5d6ec4"
            ]
        );
        let shared = ["weird name/with_dots-and-dash", "weird name/with.dots-and-dash"];
        assert_eq!(tool_name("my-t", &shared, shared[1]), names(&shared)[1]);
        assert_eq!(tool_name("my-t", &[], "get-page"), "mcp__my_t__get_page");
        let long = "x".repeat(80);
        let expected = format!("mcp__my_t__{}_505fbf2a", "x".repeat(44));
        assert_eq!(names(&[&long]), [expected]);
        assert_eq!(tool_names("a", &["b__c"], |name| name == "mcp__a__b__c")[0].len(), 12 + HASH);
    }
}
