//! Long texts for people: in a pager on a terminal, plain everywhere else.

use std::io::{IsTerminal as _, Write as _};
use std::process::{ExitCode, Stdio};

use pi_base::process::{Rights, Variables, command};

use crate::exit;

/// The pager if the user names none: it ends at once if the text fits, and keeps colors.
const PAGER: &str = "less -FRX";

/// Shows a text in a pager, if stdout is a terminal.
pub(crate) fn show(text: &str) -> ExitCode {
    if !on_a_terminal() {
        return exit::print(text);
    }
    let text = headed(text);
    match page(&text) {
        Some(shown) => shown,
        None => exit::print(&text),
    }
}

/// Prints a text that fits on a screen.
pub(crate) fn print(text: &str) -> ExitCode {
    if on_a_terminal() { exit::print(&headed(text)) } else { exit::print(text) }
}

fn on_a_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Runs the pager. `None` if it cannot show the text.
fn page(text: &str) -> Option<ExitCode> {
    let variable = |name: &str| std::env::var_os(name);
    let pager = variable("PAGER").and_then(|pager| pager.into_string().ok());
    let pager = pager.unwrap_or_else(|| PAGER.to_owned());
    if matches!(pager.trim(), "" | "cat") || cfg!(windows) {
        return None;
    }
    // A shell, because the variable may have arguments.
    let mut start = command("sh", None, Variables::Inherited, Rights::User);
    start.arg("-c").arg(format!("exec {pager}")).stdin(Stdio::piped());
    if variable("LESS").is_none() {
        start.env("LESS", "FRX");
    }
    let mut child = start.stderr(Stdio::null()).spawn().ok()?;
    // A reader who leaves early closes the pipe.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    let status = child.wait().ok()?;
    // The shell could not start the pager, so nothing was shown.
    let is_missing = matches!(status.code(), Some(126 | 127));
    (!is_missing).then_some(ExitCode::SUCCESS)
}

/// Returns the text with bold headings, if the terminal can show them.
fn headed(text: &str) -> String {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if is_plain { text.to_owned() } else { bold_headings(text) }
}

fn bold_headings(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        let is_underlined = !next.is_empty()
            && (next.chars().all(|c| c == '=') || next.chars().all(|c| c == '-'))
            && next.chars().count() == line.chars().count();
        let is_title = !line.starts_with(' ') && line.ends_with(':') && next.starts_with("  ");
        if is_underlined || is_title {
            out.push_str(&format!("\u{1b}[1m{line}\u{1b}[0m\n"));
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_bold_and_nothing_else_changes() {
        let text = "Title\n=====\n\nCommands:\n  a  b\nA note:\n\nx\n--\n";
        let expected = "\u{1b}[1mTitle\u{1b}[0m\n=====\n\n\u{1b}[1mCommands:\u{1b}[0m\n  a  b\nA note:\n\nx\n--\n";
        assert_eq!(bold_headings(text), expected);
    }
}
