//! Markdown as plain text for a terminal with 80 columns.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

const WIDTH: usize = 80;
/// Longest table that is shown as columns; others are lists.
const TABLE_WIDTH: usize = 100;

/// Renders a page. Links to other pages name the topic.
pub(crate) fn render(page: &str) -> String {
    let mut renderer = Renderer::default();
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        renderer.event(event);
    }
    renderer.out.trim_start().to_owned()
}

#[derive(Default)]
struct Renderer {
    out: String,
    /// Text of the current paragraph, heading or cell.
    text: String,
    /// Numbers of the lists that contain the current item; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The text is the first of its item.
    begins_item: bool,
    in_code: bool,
    link: Option<String>,
    rows: Vec<Vec<String>>,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => {
                for line in text.lines() {
                    self.out.push_str(format!("    {line}").trim_end());
                    self.out.push('\n');
                }
            }
            Event::Text(text) => self.text.push_str(&text),
            Event::Code(code) => self.text.push_str(&format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
                self.lists.push(first);
            }
            Tag::Item => self.begins_item = true,
            Tag::Paragraph if self.lists.is_empty() => self.out.push('\n'),
            Tag::CodeBlock(_) => {
                self.flush();
                self.out.push('\n');
                self.in_code = true;
            }
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.to_string()),
            Tag::Table(_) => self.out.push('\n'),
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => self.in_code = false,
            TagEnd::Link => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell.trim().to_owned());
                }
            }
            TagEnd::Table => self.table(),
            _ => {}
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let text = std::mem::take(&mut self.text);
        let line = match level {
            HeadingLevel::H1 => "=",
            HeadingLevel::H2 => "-",
            _ => "",
        };
        self.out.push_str(&format!("\n{text}\n"));
        if !line.is_empty() {
            self.out.push_str(&format!("{}\n", line.repeat(text.chars().count())));
        }
    }

    fn end_link(&mut self) {
        let Some(target) = self.link.take() else { return };
        let page = target.split('#').next().unwrap_or_default();
        if target.contains("://") {
            self.text.push_str(&format!(" ({target})"));
        } else if let Some(name) = page.strip_suffix(".md")
            && let Some(topic) = super::find(name)
        {
            let word = topic.word();
            // The usual text of a link is the name of the file.
            if self.text.ends_with(page) {
                self.text.truncate(self.text.len() - page.len());
                self.text.push_str(&format!("`pi help {word}`"));
            } else {
                self.text.push_str(&format!(" (`pi help {word}`)"));
            }
        }
    }

    /// Writes the text of a paragraph or item.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        let depth = self.lists.len().saturating_sub(1);
        let bullet = match self.lists.last_mut() {
            None => String::new(),
            Some(None) => "- ".to_owned(),
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
        };
        let indent = 2 * depth;
        let begins_item = std::mem::take(&mut self.begins_item);
        let first = if begins_item { bullet.clone() } else { " ".repeat(bullet.len()) };
        wrap(
            &mut self.out,
            &text,
            &format!("{}{first}", " ".repeat(indent)),
            indent + bullet.len(),
        );
    }

    /// Writes a table: columns if they fit, otherwise the first cell of each row as a term.
    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |at: usize| {
            rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
        if widths.iter().sum::<usize>() + 2 * columns <= TABLE_WIDTH {
            for row in &rows {
                let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
                let line = cells.collect::<Vec<_>>().join("  ");
                self.out.push_str(&format!("{}\n", line.trim_end()));
            }
            return;
        }
        let head = rows.first().cloned().unwrap_or_default();
        for row in rows.iter().skip(1) {
            wrap(&mut self.out, row.first().map_or("", String::as_str), "", 2);
            for (cell, title) in row.iter().zip(&head).skip(1).filter(|(cell, _)| !cell.is_empty())
            {
                let is_titled = columns > 2 && !title.is_empty();
                let text = if is_titled { format!("{title}: {cell}") } else { cell.clone() };
                wrap(&mut self.out, &text, "    ", 4);
            }
        }
    }
}

/// Adds a text in lines of at most 80 characters. The first line begins with `first`, the others
/// with `indent` spaces.
pub(crate) fn wrap(out: &mut String, text: &str, first: &str, indent: usize) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&format!("{line}\n"));
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    out.push_str(&format!("{line}\n"));
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn a_page_is_plain_text() {
        let page = "# Title\n\nSee [guard.md](guard.md#x) and [the site](https://e.example/).\n\n\
                    - one\n- `two`\n  1. inner\n\n## Part\n\n```sh\npi -p x\n```\n\n\
                    | Key | Effect |\n|---|---|\n| a | b |\n";
        let expected = "Title\n=====\n\nSee `pi help guard` and the site (https://e.example/).\n\n\
                        - one\n- `two`\n  1. inner\n\nPart\n----\n\n    pi -p x\n\n\
                        Key  Effect\na    b\n";
        assert_eq!(render(page), expected);
    }

    #[test]
    fn every_page_fits_a_terminal() {
        for topic in super::super::TOPICS {
            let text = render(topic.page);
            assert!(text.len() * 2 > topic.page.len(), "{} lost text", topic.name);
            for line in text.lines().filter(|line| !line.starts_with("    ")) {
                assert!(line.chars().count() <= 100, "{}: {line}", topic.name);
            }
        }
    }
}
