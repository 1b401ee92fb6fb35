//! `/debug`: writes a file about the screen, for reports of display problems.

use std::fmt::Write as _;

use pi_tui::View;

use crate::app::App;

/// The most rows of the transcript in the file.
const MOST_ROWS: usize = 500;

pub(super) fn run(app: &mut App, _argument: &str) {
    let text = report(app);
    let text = app.session.redacted(&text).into_owned();
    let path = app.environment.agent_directory.join("pi-debug.log");
    match pi_fs::write(&path, pi_fs::Access::Private, text.as_bytes()) {
        Ok(()) => app.status(format!(
            "Wrote {}. It contains what is on the screen: look at it before you share it",
            path.display()
        )),
        Err(error) => app.error(format!("cannot write {}: {error}", path.display())),
    }
}

fn report(app: &mut App) -> String {
    let theme = app.themes.current();
    let size = app.display.size();
    let view = View { width: size.columns, rows: size.rows, theme: &theme };
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}: {value}");
    };
    line("pi", env!("CARGO_PKG_VERSION").to_owned());
    line("time", jiff::Timestamp::now().to_string());
    line("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    line("size", format!("{} columns, {} rows", size.columns, size.rows));
    line("mode", format!("{:?}", app.preferences.mode));
    line("theme", theme.name().to_owned());
    line("keyboard", format!("{:?}", app.display.startup().keyboard()));
    line("capabilities", format!("{:?}", app.display.capabilities));
    for name in ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "LANG", "TMUX"] {
        line(name, app.environment.variable(name).unwrap_or("(not set)").to_owned());
    }
    let blocks = app.transcript.blocks();
    line("blocks", blocks.len().to_string());
    line("rows", blocks.height().to_string());
    let mut rows = Vec::new();
    let mut next = blocks.last();
    while let Some(id) = next
        && rows.len() < MOST_ROWS
    {
        let lines = blocks.lines(id, view);
        rows.extend(lines.iter().rev().map(|line| (line.width(), line.text())));
        next = blocks.previous(id);
    }
    text.push_str("\nWidth and text of the last rows:\n");
    for (width, row) in rows.iter().rev() {
        let _ = writeln!(text, "{width:4} {}", row.escape_debug());
    }
    text
}
