//! A session as one page: all branches, no network access, no script but its own.
//!
//! Every entry is rendered once and written at once, parents before children, so every path from a
//! root to a leaf is a subsequence of the page. The `hidden` attribute selects the visible path:
//! the current branch without the script, any branch with it.

use std::io::Write;

use pi_protocol::{AgentMessage, Entry, EntryBody, Message};

use super::highlight::Highlighter;
use super::overview::{self, Overview};
use super::tool::Outcome;
use super::unit::{self, Form, Row, Unit};
use super::{HtmlOptions, escape};
use crate::session::TreeNode;
use crate::{EffectsResolver, Session, SessionError};

const STYLE: &str = concat!(include_str!("assets/transcript.css"), include_str!("assets/page.css"));
/// The script of the page, in a block of its own so that its names are private.
const SCRIPT: &str = concat!(
    "\"use strict\";\n{\n",
    include_str!("assets/branches.js"),
    include_str!("assets/outline.js"),
    include_str!("assets/search.js"),
    include_str!("assets/switches.js"),
    "}\n",
);

// The policy of the page admits the style and script with these hashes. When the files change, a
// test reports the new values.
const STYLE_HASH: &str = "xbpWJ/AUIHbHrlW08OA16UVKqlxPOW3iDatgW07hPUc=";
const SCRIPT_HASH: &str = "5ruPuuyugooNcUU4tfuHU6LIX4fHFWVxBCyqUMaAZSk=";

/// Number of parts in a section. Browsers skip sections that are out of sight, which is fast with a
/// few hundred of them and slow with tens of thousands.
const CHUNK: usize = 50;

/// Writes the page of a session.
pub(super) fn write(
    session: &mut Session,
    options: &HtmlOptions,
    out: &mut impl Write,
) -> Result<(), SessionError> {
    session.verify()?;
    let overview = Overview::read(session)?;
    let mut page = Page {
        out,
        buffer: String::new(),
        highlighter: Highlighter::new(options.highlight_limit),
        effects: &options.effects,
        outline: Outline::default(),
        chunk: None,
    };
    page.opening(options.title.as_deref().unwrap_or(&overview.title), &overview)?;
    let view = session.tree()?;
    let mut entries = view.entries().peekable();
    while let Some((node, entry)) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // The entry cannot be shown, but its children can.
            Err(SessionError::Damaged { .. }) => {
                page.outline.add(&node, None);
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut results = Vec::new();
        let mut last = node.clone();
        while has_calls(&entry) && last.children == 1 {
            // An only child comes next. If the branch ends here, the child is not shown with it.
            let follows = |(next, entry): &(TreeNode<'_>, Result<Entry, SessionError>)| {
                next.on_branch == last.on_branch && entry.as_ref().is_ok_and(is_result)
            };
            let Some((next, Ok(entry))) = entries.next_if(follows) else { break };
            results.extend(outcome_of(&next, entry));
            last = next;
        }
        page.unit(&node, &entry, &results)?;
        page.outline.extend_to(&node, &last);
    }
    page.closing()
}

fn has_calls(entry: &Entry) -> bool {
    let message = entry.message().and_then(AgentMessage::as_assistant);
    message.is_some_and(|message| message.tool_calls().next().is_some())
}

fn is_result(entry: &Entry) -> bool {
    matches!(entry.message(), Some(AgentMessage::Llm(Message::ToolResult(_))))
}

fn outcome_of(node: &TreeNode<'_>, entry: Entry) -> Option<Outcome> {
    let (id, label) = (entry.id, node.label.map(str::to_owned));
    match entry.body {
        EntryBody::Message(AgentMessage::Llm(Message::ToolResult(result))) => {
            Some(Outcome { id, label, result })
        }
        _ => None,
    }
}

struct Page<'a, W> {
    out: &'a mut W,
    /// Rendered text that is not written yet.
    buffer: String,
    highlighter: Highlighter,
    effects: &'a EffectsResolver,
    outline: Outline,
    /// The open section: true if it is on the current branch, and the number of its parts.
    chunk: Option<(bool, usize)>,
}

impl<W: Write> Page<'_, W> {
    fn opening(&mut self, title: &str, overview: &Overview) -> Result<(), SessionError> {
        let html = &mut self.buffer;
        html.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.push_str(&format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'; img-src data:; \
             base-uri 'none'; form-action 'none'\">\n"
        ));
        html.push_str(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>",
        );
        escape::text(html, title);
        html.push_str("</title>\n<style>");
        html.push_str(STYLE);
        html.push_str("</style>\n</head>\n<body>\n");
        html.push_str(SIDE);
        html.push_str("<main>\n<header class=\"head\"><h1>");
        escape::text(html, title);
        html.push_str("</h1><dl>");
        for (name, value) in facts(overview) {
            html.push_str("<div><dt>");
            html.push_str(name);
            html.push_str("</dt><dd>");
            escape::text(html, &value);
            html.push_str("</dd></div>");
        }
        html.push_str("</dl></header>\n");
        self.flush()
    }

    fn unit(
        &mut self,
        node: &TreeNode<'_>,
        entry: &Entry,
        results: &[Outcome],
    ) -> Result<(), SessionError> {
        let (label, on_branch) = (node.label, node.on_branch);
        let (effects, form) = (self.effects, Form::Page);
        let unit = Unit { entry, label, on_branch, results, effects, form };
        let row = unit::write(&mut self.buffer, &unit, &mut self.highlighter);
        if row.is_some() {
            self.turn_chunk(on_branch)?;
        }
        let label = label.or_else(|| results.iter().find_map(|result| result.label.as_deref()));
        self.outline.add(&TreeNode { label, ..node.clone() }, row);
        self.flush()
    }

    /// Opens a new section unless the next part fits into the open one: parts of a section are
    /// shown and hidden together.
    fn turn_chunk(&mut self, on_branch: bool) -> Result<(), SessionError> {
        let opening = match &mut self.chunk {
            Some((same, held)) if *same == on_branch && *held < CHUNK => {
                *held += 1;
                return Ok(());
            }
            Some(_) if on_branch => "</section>\n<section>\n",
            Some(_) => "</section>\n<section hidden>\n",
            None if on_branch => "<section>\n",
            None => "<section hidden>\n",
        };
        self.chunk = Some((on_branch, 1));
        self.out.write_all(opening.as_bytes()).map_err(SessionError::io("write", "the page"))
    }

    fn closing(mut self) -> Result<(), SessionError> {
        let outline = std::mem::take(&mut self.outline);
        let html = &mut self.buffer;
        html.push_str(if self.chunk.is_some() { "</section>\n</main>\n" } else { "</main>\n" });
        html.push_str("<script type=\"application/json\">");
        html.push_str(&format!("{{\"leaf\":{},\"units\":[", outline.leaf.unwrap_or(-1)));
        html.push_str(&outline.rows);
        html.push_str("]}</script>\n<script>");
        html.push_str(SCRIPT);
        html.push_str("</script>\n</body>\n</html>\n");
        self.flush()?;
        self.out.flush().map_err(SessionError::io("write", "the page"))
    }

    fn flush(&mut self) -> Result<(), SessionError> {
        self.out
            .write_all(self.buffer.as_bytes())
            .map_err(SessionError::io("write", "the page"))?;
        self.buffer.clear();
        Ok(())
    }
}

/// The data of the script: for every part of the page its parent, its kind and a line.
#[derive(Default)]
struct Outline {
    /// JSON, rows separated by commas.
    rows: String,
    count: i64,
    /// For every depth on the path to the last entry, the part that shows the entry of that depth
    /// or, if none does, the part above it.
    parts: Vec<i64>,
    /// The last part of the current branch.
    leaf: Option<i64>,
}

impl Outline {
    /// Adds an entry, with its row if it is shown.
    fn add(&mut self, node: &TreeNode<'_>, row: Option<Row>) {
        let above = node.depth.checked_sub(1).and_then(|depth| self.parts.get(depth));
        let above = above.copied().unwrap_or(-1);
        let part = match row {
            None => above,
            Some(row) => {
                if self.count > 0 {
                    self.rows.push_str(",\n");
                }
                self.rows.push_str(&format!("[{above},\"{}\",", row.kind));
                escape::json(&mut self.rows, &row.text);
                if let Some(label) = node.label {
                    self.rows.push(',');
                    escape::json(&mut self.rows, label);
                }
                self.rows.push(']');
                self.count += 1;
                self.count - 1
            }
        };
        self.parts.truncate(node.depth);
        self.parts.push(part);
        if node.on_branch {
            self.leaf = Some(part);
        }
    }

    /// Records that the entries from `first` to `last` are shown by one part.
    fn extend_to(&mut self, first: &TreeNode<'_>, last: &TreeNode<'_>) {
        let part = self.parts.get(first.depth).copied().unwrap_or(-1);
        self.parts.resize(last.depth + 1, part);
    }
}

fn facts(overview: &Overview) -> Vec<(&'static str, String)> {
    let stats = &overview.stats;
    let tokens = &stats.tokens;
    let mut facts = vec![("Directory", overview.cwd.clone())];
    facts.push(("Created", format!("{} UTC", overview::date(&overview.created))));
    if !overview.models.is_empty() {
        facts.push(("Models", overview.models.join(", ")));
    }
    facts.push((
        "Messages",
        format!(
            "{} ({} user, {} assistant, {} tool calls)",
            overview::messages(stats),
            stats.user_messages,
            stats.assistant_messages,
            stats.tool_calls
        ),
    ));
    if tokens.total > 0 {
        facts.push((
            "Tokens",
            format!(
                "{} in, {} out, {} from cache",
                overview::count(tokens.input + tokens.cache_write),
                overview::count(tokens.output),
                overview::count(tokens.cache_read)
            ),
        ));
        facts.push(("Cost", overview::cost(stats.cost)));
    }
    facts
}

/// The side column. It needs the script, so the script makes it visible.
const SIDE: &str = r#"<aside class="side" aria-label="Search and outline" hidden>
<div class="bar">
<div class="find" role="search">
<input type="search" placeholder="Search" aria-label="Search all branches" autocomplete="off" spellcheck="false">
<output aria-live="polite"></output>
<button type="button" data-do="previous" title="Previous match" aria-label="Previous match" disabled>↑</button>
<button type="button" data-do="next" title="Next match" aria-label="Next match" disabled>↓</button>
</div>
<div class="switches">
<button type="button" data-do="tools" aria-pressed="false">Tools</button>
<button type="button" data-do="expand" aria-pressed="false">Expand all</button>
<button type="button" data-do="theme">Theme: system</button>
</div>
</div>
<ol class="found" aria-label="Matches" hidden></ol>
<nav class="tree" aria-label="Outline of all branches"><div class="rows" role="tree" aria-label="Entries"></div></nav>
</aside>
<button type="button" class="menu" data-do="menu" aria-expanded="false" hidden>Outline</button>
"#;
