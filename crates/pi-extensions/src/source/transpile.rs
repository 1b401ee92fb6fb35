//! TypeScript to JavaScript, with a map of positions.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use super::map::{Mapping, PositionMap};
use super::prepare::SyntaxProblem;

/// JavaScript without types, one statement per line at least, with semicolons.
pub(super) struct Plain {
    pub(super) code: String,
    pub(super) map: PositionMap,
    /// The text has imports, exports, `import.meta` or top-level `await`.
    pub(super) is_module: bool,
}

/// Removes types. Imports that are unused or used only as types disappear, as extensions expect.
pub(super) fn transpile(path: &Path, text: &str) -> Result<Plain, SyntaxProblem> {
    let allocator = Allocator::default();
    let source_type = source_type(path);
    let parsed = Parser::new(&allocator, text, source_type).parse();
    if let Some(error) = parsed.diagnostics.iter().next() {
        return Err(SyntaxProblem::new(text, error));
    }
    let is_module = parsed.module_record.has_module_syntax;
    let mut program = parsed.program;
    if source_type.is_typescript() || source_type.is_jsx() {
        let semantic = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true);
        let semantic = semantic.build(&program);
        if let Some(error) = semantic.diagnostics.iter().next() {
            return Err(SyntaxProblem::new(text, error));
        }
        let scoping = semantic.semantic.into_scoping();
        let options = TransformOptions::default();
        let transformed =
            Transformer::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
        if let Some(error) = transformed.diagnostics.iter().next() {
            return Err(SyntaxProblem::new(text, error));
        }
    }
    let options =
        CodegenOptions { source_map_path: Some(path.to_path_buf()), ..CodegenOptions::default() };
    let printed = Codegen::new().with_options(options).build(&program);
    let source = Lines::new(text);
    let lines = Lines::new(&printed.code);
    let mappings = printed.map.iter().flat_map(|map| map.get_tokens()).map(|token| Mapping {
        line: token.get_dst_line(),
        column: lines.byte_column(token.get_dst_line(), token.get_dst_col()),
        source_line: token.get_src_line(),
        source_column: source.construct_column(token.get_src_line(), token.get_src_col()),
    });
    let map = PositionMap::new(mappings.collect());
    Ok(Plain { map, code: printed.code, is_module })
}

/// The lines of a text, with what is needed to convert columns. Minified files have one long line
/// and a token every few bytes, so a conversion must not look at the whole line.
struct Lines<'a>(Vec<Line<'a>>);

struct Line<'a> {
    text: &'a str,
    /// Byte offsets of the UTF-16 units; absent for ASCII.
    offsets: Option<Vec<u32>>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.split('\n').map(Line::new).collect())
    }

    /// Returns the column of a line in bytes for one in UTF-16.
    fn byte_column(&self, line: u32, column: u32) -> u32 {
        let Some(line) = self.0.get(line as usize) else { return column };
        match &line.offsets {
            None => column,
            Some(offsets) => offsets.get(column as usize).copied().unwrap_or(column),
        }
    }

    /// Returns the column of `new` for a class after it: the engine names the class, V8 the whole
    /// expression. Columns are in UTF-16.
    fn construct_column(&self, line: u32, column: u32) -> u32 {
        let end = self.byte_column(line, column) as usize;
        let text = self.0.get(line as usize).map_or("", |line| line.text);
        let before = text.get(..end).unwrap_or_default();
        if before.ends_with("new ") { column.saturating_sub(4) } else { column }
    }
}

impl<'a> Line<'a> {
    fn new(text: &'a str) -> Self {
        if text.is_ascii() {
            return Self { text, offsets: None };
        }
        let mut offsets = Vec::with_capacity(text.len());
        for (at, char) in text.char_indices() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            offsets.extend(std::iter::repeat_n(at, char.len_utf16()));
        }
        offsets.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        Self { text, offsets: Some(offsets) }
    }
}

/// Returns the language of a file, by its extension.
pub(crate) fn source_type(path: &Path) -> SourceType {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("js");
    match extension {
        "ts" | "mts" => SourceType::ts(),
        "cts" => SourceType::ts().with_unambiguous(true),
        "tsx" => SourceType::tsx(),
        "jsx" => SourceType::jsx(),
        "mjs" => SourceType::mjs(),
        "cjs" => SourceType::cjs(),
        _ => SourceType::unambiguous(),
    }
}
