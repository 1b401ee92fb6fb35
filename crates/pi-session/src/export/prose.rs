//! Markdown of models and users as safe HTML.
//!
//! Raw HTML is shown as text. Only links to the web and to mail addresses are kept. An image
//! becomes a link to it: opening the page must not contact a server. Blocks end in line breaks, so
//! that the text content of a page keeps its lines.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use super::escape;
use super::highlight::Highlighter;

/// Longer texts are shown verbatim.
const LIMIT: usize = 512 * 1024;
/// Deeper nesting is flattened, since browsers limit it.
const DEPTH: usize = 24;

/// The meaning of a single line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaks {
    /// A blank, as in Markdown.
    Soft,
    /// A line break, as in a prompt that a user typed.
    Hard,
}

/// Appends Markdown as HTML.
pub(super) fn write(out: &mut String, text: &str, breaks: Breaks, highlighter: &mut Highlighter) {
    if text.len() > LIMIT {
        out.push_str("<pre>");
        escape::text(out, text);
        out.push_str("</pre>");
        return;
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut writer = Writer {
        out,
        breaks,
        highlighter,
        open: Vec::new(),
        links: 0,
        code: None,
        alignments: Vec::new(),
        column: 0,
        in_head: false,
    };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
}

struct Writer<'a> {
    out: &'a mut String,
    breaks: Breaks,
    highlighter: &'a mut Highlighter,
    /// The closing tags of open elements.
    open: Vec<&'static str>,
    /// Number of open links, which must not nest in HTML.
    links: usize,
    /// The code block that is being read, and its language.
    code: Option<(String, String)>,
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(text) => match &mut self.code {
                Some((code, _)) => code.push_str(&text),
                None => escape::text(self.out, &text),
            },
            Event::Code(code) => {
                self.out.push_str("<code>");
                escape::text(self.out, &code);
                self.out.push_str("</code>");
            }
            Event::SoftBreak if self.breaks == Breaks::Soft => self.out.push('\n'),
            Event::SoftBreak | Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(done) => {
                let mark = if done {
                    "<span class=\"task\" role=\"img\" aria-label=\"done\">☑</span> "
                } else {
                    "<span class=\"task\" role=\"img\" aria-label=\"to do\">☐</span> "
                };
                self.out.push_str(mark);
            }
            // Raw HTML and disabled extensions are plain text.
            Event::Html(text) | Event::InlineHtml(text) => escape::text(self.out, &text),
            Event::InlineMath(text) | Event::DisplayMath(text) => escape::text(self.out, &text),
            Event::FootnoteReference(text) => escape::text(self.out, &text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let nested = self.open.len() >= DEPTH;
        let (opening, closing) = match tag {
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default()
                    }
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((String::new(), language.to_owned()));
                ("", "")
            }
            Tag::Link { dest_url, .. } => return self.start_link(&dest_url, "<a href=\""),
            Tag::Image { dest_url, .. } => {
                return self.start_link(&dest_url, "<a class=\"image\" href=\"");
            }
            Tag::List(Some(first)) if !nested && first != 1 => {
                self.out.push_str(&format!("<ol start=\"{first}\">"));
                ("", "</ol>\n")
            }
            Tag::Table(alignments) => {
                self.alignments = alignments;
                ("<div class=\"table\"><table>", "</tbody></table></div>\n")
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                ("<thead><tr>", "</tr></thead>\n<tbody>")
            }
            Tag::TableRow => {
                (self.in_head, self.column) = (false, 0);
                ("<tr>", "</tr>\n")
            }
            Tag::TableCell => self.cell(),
            _ if nested => ("", ""),
            Tag::Paragraph => ("<p>", "</p>\n"),
            Tag::Heading { level, .. } => heading(level),
            Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>\n"),
            Tag::HtmlBlock => ("<p class=\"verbatim\">", "</p>\n"),
            Tag::List(Some(_)) => ("<ol>", "</ol>\n"),
            Tag::List(None) => ("<ul>", "</ul>\n"),
            Tag::Item => ("<li>", "</li>\n"),
            Tag::Emphasis => ("<em>", "</em>"),
            Tag::Strong => ("<strong>", "</strong>"),
            Tag::Strikethrough => ("<del>", "</del>"),
            _ => ("", ""),
        };
        self.out.push_str(opening);
        self.open.push(closing);
    }

    fn start_link(&mut self, url: &str, opening: &str) {
        self.links += 1;
        if self.links > 1 || self.open.len() >= DEPTH || !escape::is_link(url) {
            // The text stays, the link is dropped.
            return self.open.push(NO_LINK);
        }
        self.out.push_str(opening);
        escape::text(self.out, url);
        self.out.push_str("\" rel=\"noopener noreferrer\">");
        self.open.push(LINK);
    }

    fn cell(&mut self) -> (&'static str, &'static str) {
        let alignment = self.alignments.get(self.column).copied().unwrap_or(Alignment::None);
        self.column += 1;
        match (self.in_head, alignment) {
            (true, Alignment::Right) => ("<th class=\"right\">", "</th>\n"),
            (true, Alignment::Center) => ("<th class=\"center\">", "</th>\n"),
            (true, _) => ("<th>", "</th>\n"),
            (false, Alignment::Right) => ("<td class=\"right\">", "</td>\n"),
            (false, Alignment::Center) => ("<td class=\"center\">", "</td>\n"),
            (false, _) => ("<td>", "</td>\n"),
        }
    }

    fn end(&mut self) {
        let closing = self.open.pop().unwrap_or_default();
        if matches!(closing, LINK | NO_LINK) {
            self.links -= 1;
        }
        if closing != NO_LINK {
            self.out.push_str(closing);
        }
        if let Some((code, language)) = self.code.take() {
            code_block(self.out, code.trim_end_matches('\n'), &language, self.highlighter);
        }
    }
}

const LINK: &str = "</a>";
const NO_LINK: &str = "no link";

/// Returns the tags of a heading; headings of a message are below those of the page.
fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h3>", "</h3>\n"),
        HeadingLevel::H2 => ("<h4>", "</h4>\n"),
        HeadingLevel::H3 => ("<h5>", "</h5>\n"),
        _ => ("<h6>", "</h6>\n"),
    }
}

/// Appends a block of code.
pub(super) fn code_block(
    out: &mut String,
    code: &str,
    language: &str,
    highlighter: &mut Highlighter,
) {
    out.push_str("<pre class=\"code\" tabindex=\"0\"><code>");
    highlighter.write(out, code, language);
    out.push_str("</code></pre>\n");
}
