//! `cargo xtask metrics [--fill] [PATH]`: the size of the product, per crate and in sum.
//!
//! Counts `crates/*/src` without tests, in this repository or in another checkout at PATH, and the
//! JavaScript beside it. `--fill` writes the figures into the columns "after" of
//! docs/measurements.md, whose columns "before" stay as they are.

mod code;
mod fill;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{self, ReadError, SourceFile};
use crate::repository;

/// Functions with more lines are counted.
const LONG_FUNCTION: usize = 80;

/// The document with the columns to fill.
const DOCUMENT: &str = "docs/measurements.md";

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetricsError {
    #[error("usage: cargo xtask metrics [--fill] [PATH]")]
    Usage,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{DOCUMENT}: {0}")]
    Document(io::Error),
    #[error("{DOCUMENT} has no section \"{}\" with two tables", fill::SECTION)]
    NoSection,
    #[error("`cargo tree` failed: {0}")]
    Tree(String),
}

/// The size of a crate, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Size {
    files: usize,
    lines: usize,
    code: usize,
    public: usize,
    functions: usize,
    long: usize,
}

/// All figures.
#[derive(Debug, Default)]
struct Metrics {
    crates: BTreeMap<String, Size>,
    javascript: Size,
    /// Packages that `pi` is built from.
    packages: usize,
}

/// Prints the tables, or writes them.
#[allow(clippy::print_stdout)] // The requested output.
pub(crate) fn run(arguments: &[&str]) -> Result<(), MetricsError> {
    let (fill, path) = match arguments {
        ["--fill", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let root = match path {
        [] => repository::root(),
        [path] if !path.starts_with('-') => PathBuf::from(path),
        _ => return Err(MetricsError::Usage),
    };
    let metrics = measure(&root)?;
    if !fill {
        println!("{}", metrics.table());
        return Ok(());
    }
    let document = repository::path(DOCUMENT);
    let text = std::fs::read_to_string(&document).map_err(MetricsError::Document)?;
    let text = fill::fill(&text, &metrics).ok_or(MetricsError::NoSection)?;
    std::fs::write(document, text).map_err(MetricsError::Document)
}

fn measure(root: &Path) -> Result<Metrics, MetricsError> {
    let mut metrics = Metrics { packages: packages(root)?, ..Metrics::default() };
    for file in files::load(root, &["rs", "js", "mjs", "ts"])? {
        let Some(path) = file.path.strip_prefix("crates/") else { continue };
        let Some((name, inside)) = path.split_once('/') else { continue };
        if file.is_test() {
            continue;
        }
        if file.is_source() {
            metrics.crates.entry(name.to_owned()).or_default().add(&size(&file));
        } else if inside.starts_with("js/") {
            let code = file.lines().filter(|(_, line)| is_javascript_code(line)).count();
            let lines = file.lines().count();
            metrics.javascript.add(&Size { files: 1, lines, code, ..Size::default() });
        }
    }
    Ok(metrics)
}

/// The size of a file without its tests.
fn size(file: &SourceFile) -> Size {
    let product: Vec<&str> = file.product_lines().map(|(_, line)| line).collect();
    let code = code::code(&product.join("\n"));
    let functions = code::function_lengths(&code);
    Size {
        files: 1,
        lines: product.len(),
        code: code::code_lines(&code),
        public: code::public_items(&code),
        functions: functions.len(),
        long: functions.iter().filter(|lines| **lines > LONG_FUNCTION).count(),
    }
}

/// Returns false for blank lines and comments. Lines of block comments begin with an asterisk.
fn is_javascript_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty()
        && !["//", "/*", "* ", "*/"].iter().any(|start| line.starts_with(start))
        && line != "*"
}

/// Counts the packages that `pi` is built from, `pi` included.
fn packages(root: &Path) -> Result<usize, MetricsError> {
    let failed = |error: &dyn std::fmt::Display| MetricsError::Tree(error.to_string());
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .current_dir(root)
        .args(["tree", "--locked", "--package", "pi", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"])
        .output()
        .map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let name = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let names: std::collections::BTreeSet<String> = text.lines().map(name).collect();
    Ok(names.iter().filter(|name| !name.is_empty()).count())
}

impl Size {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.code += other.code;
        self.public += other.public;
        self.functions += other.functions;
        self.long += other.long;
    }

    fn row(&self, name: &str) -> String {
        let Self { files, lines, code, public, functions, long } = *self;
        let figures = [files, lines, code, public, functions, long].map(grouped);
        format!("| {name} | {} |", figures.join(" | "))
    }
}

impl Metrics {
    fn sum(&self) -> Size {
        self.crates.values().fold(Size::default(), |mut sum, size| {
            sum.add(size);
            sum
        })
    }

    fn table(&self) -> String {
        let mut lines = vec![
            format!(
                "| crate | files | lines | code | public items | functions | over {LONG_FUNCTION} lines |"
            ),
            "|---|---|---|---|---|---|---|".to_owned(),
        ];
        lines.extend(self.crates.iter().map(|(name, size)| size.row(&format!("`{name}`"))));
        lines.push(self.sum().row("all"));
        let Size { files, lines: javascript, code, .. } = self.javascript;
        let [files, javascript, code] = [files, javascript, code].map(grouped);
        lines.push(format!("| JavaScript | {files} | {javascript} | {code} | – | – | – |"));
        lines.push(format!("\n{} packages in the tree of `pi`.", self.packages));
        lines.join("\n")
    }
}

/// Writes a number with a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn tests_do_not_count() {
        let text = "//! File.\n\npub fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let expected = Size { files: 1, lines: 4, code: 1, public: 1, functions: 1, long: 0 };
        assert_eq!(size(&file("crates/a/src/b.rs", text)), expected);
        let long = format!("fn a() {{\n{}}}\n", "    b();\n".repeat(79));
        assert_eq!(size(&file("crates/a/src/b.rs", &long)).long, 1);
    }

    #[test]
    fn the_repository_has_a_size() {
        let metrics = measure(&repository::root()).unwrap();
        let (sum, agent) = (metrics.sum(), metrics.crates["pi-agent"]);
        assert!(sum.files > agent.files && sum.lines > sum.code && sum.code > sum.functions);
        assert!(metrics.javascript.lines > 0 && metrics.packages > metrics.crates.len());
        assert!(metrics.table().contains("| `pi-agent` | "), "{}", metrics.table());
    }

    #[test]
    fn thousands_are_grouped() {
        let numbers = [0, 999, 1_000, 231_589, 1_000_000].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "231,589", "1,000,000"]);
    }
}
