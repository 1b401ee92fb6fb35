//! The section `mcp_servers` of the system prompt: servers whose tools are not declared.

use super::text::clean_line;

/// The longest section and the longest line of a server, in characters.
const LONGEST: usize = 4096;
const LONGEST_LINE: usize = 250;

/// The name of the section.
pub(super) const NAME: &str = "mcp_servers";

/// A server in the section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Namespace of the server's tools.
    pub(super) namespace: String,
    /// Tools of the server can be called from codemode scripts.
    pub(super) codemode: bool,
    /// Tools of the server can be found with the search tool.
    pub(super) deferred: bool,
    /// Description of the server.
    pub(super) description: Option<String>,
}

/// Returns the text of the section; `None` without servers.
pub(super) fn text(mut servers: Vec<Listed>) -> Option<String> {
    servers.retain(|server| server.codemode || server.deferred);
    if servers.is_empty() {
        return None;
    }
    servers.sort_by(|a, b| a.namespace.cmp(&b.namespace));
    let mut text = "MCP servers with tools that are not declared here.".to_owned();
    if servers.iter().any(|server| server.codemode) {
        text.push_str(" Call tools of servers marked `codemode` in codemode scripts.");
    }
    if servers.iter().any(|server| server.deferred) {
        text.push_str(" Find and load tools of servers marked `tool_search` with `tool_search`.");
    }
    let mut length = text.chars().count();
    // The line on servers that are left out must fit, too.
    let limit = LONGEST - 40;
    for (at, server) in servers.iter().enumerate() {
        let line = line(server);
        let added = line.chars().count() + 1;
        if length + added > limit {
            text.push_str(&format!("\n- … and {} more servers", servers.len() - at));
            break;
        }
        length += added;
        text.push('\n');
        text.push_str(&line);
    }
    Some(text)
}

fn line(server: &Listed) -> String {
    let ways = match (server.codemode, server.deferred) {
        (true, true) => "codemode, tool_search",
        (false, true) => "tool_search",
        _ => "codemode",
    };
    let mut line = format!("- {} ({ways})", server.namespace);
    if let Some(description) = &server.description {
        let description = clean_line(description, 4 * LONGEST_LINE);
        let room = LONGEST_LINE.saturating_sub(line.chars().count() + 2);
        if !description.is_empty() {
            line.push_str(": ");
            if description.chars().count() > room {
                line.extend(description.chars().take(room.saturating_sub(1)));
                line.push('…');
            } else {
                line.push_str(&description);
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, codemode: bool, deferred: bool, description: &str) -> Listed {
        let description = (!description.is_empty()).then(|| description.to_owned());
        Listed { namespace: name.to_owned(), codemode, deferred, description }
    }

    #[test]
    fn servers_are_sorted_and_bounded() {
        assert_eq!(text(vec![server("mcp__direct", false, false, "")]), None);
        let servers = vec![
            server("mcp__b", true, false, ""),
            server("mcp__a", true, true, "Does\nthings\u{200b}."),
        ];
        let shown = text(servers).unwrap();
        assert!(
            shown
                .ends_with("\n- mcp__a (codemode, tool_search): Does things.\n- mcp__b (codemode)")
        );
        let long = server("mcp__long", false, true, &"x".repeat(1000));
        assert_eq!(line(&long).chars().count(), LONGEST_LINE);
        let many = (0..500).map(|n| server(&format!("mcp__s{n:03}"), true, false, &"y".repeat(99)));
        let shown = text(many.collect()).unwrap();
        assert!(shown.chars().count() <= LONGEST, "{}", shown.len());
        assert!(shown.ends_with(" more servers"), "{}", &shown[shown.len() - 100..]);
    }
}
