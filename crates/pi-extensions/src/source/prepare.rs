//! A file as the text of a function, ready to be compiled.

use std::path::Path;

use super::map::PositionMap;
use super::rewrite::{PARAMETERS, rewrite};
use super::transpile::transpile;

/// The form of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Imports and exports.
    Module,
    /// `require` and `module.exports`.
    CommonJs,
}

/// A file as the text of a function.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) format: Format,
    /// The text; its value is a function.
    pub(crate) code: String,
    /// Module specifiers, in the order in which the function takes them.
    pub(crate) imports: Vec<String>,
    /// The function returns a promise.
    pub(crate) is_async: bool,
    pub(crate) map: PositionMap,
}

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxProblem {
    pub(crate) message: String,
    /// Line and column, counted from 1.
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl SyntaxProblem {
    pub(crate) fn new(text: &str, error: &oxc_diagnostics::OxcDiagnostic) -> Self {
        let label = error.labels.iter().next();
        let offset = label.map_or(0, |label| label.offset() as usize);
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Self { message: error.message.to_string(), line, column }
    }
}

/// Prepares the text of a file.
pub(crate) fn prepare(path: &Path, text: &str) -> Result<Prepared, SyntaxProblem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if is_plain_common_js(path, text) {
        return Ok(common_js(text));
    }
    let plain = transpile(path, text)?;
    let rewritten = rewrite(&plain.code, plain.is_module);
    let mut map = plain.map;
    map.shift(&rewritten.shifts);
    let format = if plain.is_module { Format::Module } else { Format::CommonJs };
    let (code, imports, is_async) = (rewritten.code, rewritten.imports, rewritten.is_async);
    Ok(Prepared { format, code, imports, is_async, map })
}

/// Returns true for JavaScript that certainly has no module syntax, which most packages are: such
/// text needs no parser.
fn is_plain_common_js(path: &Path, text: &str) -> bool {
    let is_script =
        path.extension().is_some_and(|extension| extension == "js" || extension == "cjs");
    is_script
        && !text.contains("import")
        && !text.contains("export ")
        && !text.contains("export{")
        && !text.starts_with("#!")
}

fn common_js(text: &str) -> Prepared {
    Prepared {
        format: Format::CommonJs,
        code: format!("(function({PARAMETERS}){{{text}\n}})"),
        imports: Vec::new(),
        is_async: false,
        map: PositionMap::default(),
    }
}
