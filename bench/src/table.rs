//! Tables in Markdown, and the numbers in them.

use std::fmt;
use std::time::Duration;

/// A title, a heading and rows.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    /// Adds a line of text below the table.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        if !self.rows.is_empty() {
            writeln!(f, "| {} |", self.columns.join(" | "))?;
            writeln!(f, "|{}", "---|".repeat(self.columns.len()))?;
            self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))?;
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}\n"))
    }
}

/// Returns the text of a budget, marked if the number is over it.
pub(crate) fn budget(is_over: bool, text: impl fmt::Display) -> String {
    if is_over { format!("{text}: **over budget**") } else { text.to_string() }
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Writes a time with a fitting unit.
pub(crate) fn time(time: Duration) -> String {
    let ms = millis(time);
    match ms {
        0.0..1.0 => format!("{:.0} µs", micros(time)),
        1.0..10.0 => format!("{ms:.2} ms"),
        10.0..1_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

/// Writes a number of bytes with a fitting unit.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Writes megabytes, or a dash.
pub(crate) fn megabytes(megabytes: Option<f64>) -> String {
    megabytes.map_or_else(none, |megabytes| format!("{megabytes:.1} MB"))
}

/// The cell of a number that was not measured.
pub(crate) fn none() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_markdown() {
        let mut table = Table::new("Title", &["a", "b"]);
        table.row(["1".to_owned(), budget(true, "2 ms")]);
        table.note("Note.");
        let expected = "Title\n\n| a | b |\n|---|---|\n| 1 | 2 ms: **over budget** |\n\nNote.\n\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn numbers_have_fitting_units() {
        let times = [43, 4_300, 43_000, 4_300_000].map(|us| time(Duration::from_micros(us)));
        assert_eq!(times, ["43 µs", "4.30 ms", "43 ms", "4.3 s"]);
        assert_eq!([999, 53_000, 53_100_000].map(size), ["999 B", "53 kB", "53.1 MB"]);
        assert_eq!([None, Some(1.25)].map(megabytes), ["–", "1.2 MB"]);
    }
}
