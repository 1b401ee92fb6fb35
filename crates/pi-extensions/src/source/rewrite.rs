//! An ES module as the body of a function.
//!
//! | module | function |
//! |---|---|
//! | `import { a } from "x"`, then `a` | `$m[0].a`, and `(0, $m[0].a)()` for a call |
//! | `import * as x`, `import x` | `$m[0]`, `$m[0].default` |
//! | `export const a = 1` | `const a = 1`, and a getter in `$x({ a: () => a })` |
//! | `export default e` | `const $default = e` |
//! | `export * from "x"` | `$star($m[0])` |
//! | `import(e)`, `import.meta` | `$import(e)`, `$meta` |
//!
//! A name that a module does not export is therefore `undefined`, and a reference to it fails when it
//! is used. No line is added or removed, so that positions keep their lines.

use std::fmt::Write as _;

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    ArrowFunctionExpression, AwaitExpression, BindingIdentifier, BindingPattern, Class,
    Declaration, ExportAllDeclaration, ExportDeclaration, ExportDefaultDeclaration,
    ExportDefaultDeclarationKind, ExportFromDeclaration, ExportNamedDeclaration, ForOfStatement,
    Function, ImportDeclaration, ImportDeclarationSpecifier, ImportExpression, ImportMeta,
    ModuleExportName, Statement, VariableDeclaration,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::{GetSpan as _, SourceType, Span};
use oxc_syntax::scope::ScopeFlags;

use super::map::Shift;

/// A module as the body of a function.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) code: String,
    /// Module specifiers in the order of `$m`.
    pub(super) imports: Vec<String>,
    /// The body waits at its top level.
    pub(super) is_async: bool,
    pub(super) shifts: Vec<Shift>,
}

/// Names of the parameters of the function.
pub(super) const PARAMETERS: &str =
    "$x,$star,$m,$import,$meta,exports,require,module,__filename,__dirname";

/// Rewrites a module. The text comes from the code generator: valid, with all semicolons.
pub(super) fn rewrite(text: &str, is_module: bool) -> Rewritten {
    let allocator = Allocator::default();
    let source_type = if is_module { SourceType::mjs() } else { SourceType::cjs() };
    let parsed = Parser::new(&allocator, text, source_type).parse();
    let built = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program);
    let mut rewriter = Rewriter::new(text, &built.semantic);
    for statement in &parsed.program.body {
        rewriter.statement(statement);
    }
    let mut inner = Inner { edits: &mut rewriter.edits, depth: 0, is_async: false };
    inner.visit_program(&parsed.program);
    rewriter.is_async = inner.is_async;
    rewriter.finish(is_module)
}

struct Edit {
    span: Span,
    text: String,
}

struct Rewriter<'s, 'a> {
    semantic: &'s Semantic<'a>,
    text: &'s str,
    edits: Vec<Edit>,
    imports: Vec<String>,
    /// Name and value of each export.
    exports: Vec<(String, String)>,
    stars: Vec<usize>,
    is_async: bool,
}

impl<'s, 'a> Rewriter<'s, 'a> {
    fn new(text: &'s str, semantic: &'s Semantic<'a>) -> Self {
        Self {
            semantic,
            text,
            edits: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            stars: Vec::new(),
            is_async: false,
        }
    }

    fn statement(&mut self, statement: &Statement<'a>) {
        match statement {
            Statement::ImportDeclaration(import) => self.import(import),
            Statement::ExportDeclaration(export) => self.export_declaration(export),
            Statement::ExportNamedDeclaration(export) => self.export_local(export),
            Statement::ExportFromDeclaration(export) => self.export_from(export),
            Statement::ExportDefaultDeclaration(export) => self.export_default(export),
            Statement::ExportAllDeclaration(export) => self.export_all(export),
            _ => {}
        }
    }

    /// Returns the index of a module in `$m`.
    fn module(&mut self, specifier: &str) -> usize {
        if let Some(at) = self.imports.iter().position(|other| other == specifier) {
            return at;
        }
        self.imports.push(specifier.to_owned());
        self.imports.len() - 1
    }

    fn blank(&mut self, span: Span) {
        // Line breaks stay, so that every line keeps its number.
        let removed = &self.text[span.start as usize..span.end as usize];
        let text = removed.chars().filter(|c| *c == '\n').collect();
        self.edits.push(Edit { span, text });
    }

    fn import(&mut self, import: &ImportDeclaration<'a>) {
        let module = self.module(&import.source.value);
        for specifier in import.specifiers.iter().flatten() {
            let (local, value) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(one) => {
                    (&one.local, member(module, &one.imported))
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                    (&one.local, format!("$m[{module}].default"))
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => {
                    (&one.local, format!("$m[{module}]"))
                }
            };
            self.replace_references(local, &value);
        }
        self.blank(import.span);
    }

    fn replace_references(&mut self, local: &BindingIdentifier<'a>, value: &str) {
        let Some(symbol) = local.symbol_id.get() else { return };
        let nodes = self.semantic.nodes();
        for reference in self.semantic.scoping().get_resolved_references(symbol) {
            let span = nodes.kind(reference.node_id()).span();
            let parent = nodes.parent_kind(reference.node_id());
            let text = match parent {
                // The whole declaration is replaced.
                AstKind::ExportSpecifier(_) => continue,
                AstKind::ObjectProperty(property) if property.shorthand => {
                    format!("{}:{value}", local.name)
                }
                AstKind::CallExpression(call) if call.callee.span() == span => {
                    format!("(0,{value})")
                }
                AstKind::TaggedTemplateExpression(tagged) if tagged.tag.span() == span => {
                    format!("(0,{value})")
                }
                _ => value.to_owned(),
            };
            self.edits.push(Edit { span, text });
        }
    }

    fn export_local(&mut self, export: &ExportNamedDeclaration<'a>) {
        let imported = self.imported_names();
        for specifier in &export.specifiers {
            let local = specifier.local.name();
            let found = imported.iter().find(|(name, _)| *name == *local);
            let value = found.map_or_else(|| local.to_string(), |(_, value)| value.clone());
            self.exports.push((specifier.exported.name().to_string(), value));
        }
        self.blank(export.span);
    }

    fn export_from(&mut self, export: &ExportFromDeclaration<'a>) {
        let module = self.module(&export.source.value);
        for specifier in &export.specifiers {
            let exported = specifier.exported.name().to_string();
            self.exports.push((exported, member(module, &specifier.local)));
        }
        self.blank(export.span);
    }

    /// Returns the imported names with their values.
    fn imported_names(&mut self) -> Vec<(String, String)> {
        let program = self.semantic.nodes().program();
        let mut names = Vec::new();
        for statement in &program.body {
            let Statement::ImportDeclaration(import) = statement else { continue };
            let module = self.module(&import.source.value);
            for specifier in import.specifiers.iter().flatten() {
                let value = match specifier {
                    ImportDeclarationSpecifier::ImportSpecifier(one) => {
                        member(module, &one.imported)
                    }
                    ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => {
                        format!("$m[{module}].default")
                    }
                    ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => {
                        format!("$m[{module}]")
                    }
                };
                names.push((specifier.local().name.to_string(), value));
            }
        }
        names
    }

    fn export_declaration(&mut self, export: &ExportDeclaration<'a>) {
        let keyword = Span::new(export.span.start, export.declaration.span().start);
        self.edits.push(Edit { span: keyword, text: String::new() });
        let mut names = Vec::new();
        match &export.declaration {
            Declaration::VariableDeclaration(variables) => bound_names(variables, &mut names),
            Declaration::FunctionDeclaration(function) => {
                names.extend(function.id.iter().map(|id| id.name.to_string()));
            }
            Declaration::ClassDeclaration(class) => {
                names.extend(class.id.iter().map(|id| id.name.to_string()));
            }
            _ => {}
        }
        self.exports.extend(names.into_iter().map(|name| (name.clone(), name)));
    }

    fn export_default(&mut self, export: &ExportDefaultDeclaration<'a>) {
        let keyword = |end: u32| Span::new(export.span.start, end);
        let (edit, value) = match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => match &function.id {
                Some(id) => (
                    Edit { span: keyword(function.span.start), text: String::new() },
                    id.name.to_string(),
                ),
                None => {
                    // A name, so that the function is hoisted as its declaration was.
                    let at = function.params.span.start;
                    self.edits.push(Edit { span: Span::new(at, at), text: " $default".to_owned() });
                    (
                        Edit { span: keyword(function.span.start), text: String::new() },
                        "$default".to_owned(),
                    )
                }
            },
            ExportDefaultDeclarationKind::ClassDeclaration(class) => match &class.id {
                Some(id) => (
                    Edit { span: keyword(class.span.start), text: String::new() },
                    id.name.to_string(),
                ),
                None => (
                    Edit { span: keyword(class.span.start), text: "const $default=".to_owned() },
                    "$default".to_owned(),
                ),
            },
            other => (
                Edit { span: keyword(other.span().start), text: "const $default=".to_owned() },
                "$default".to_owned(),
            ),
        };
        self.edits.push(edit);
        self.exports.push(("default".to_owned(), value));
    }

    fn export_all(&mut self, export: &ExportAllDeclaration<'a>) {
        let module = self.module(&export.source.value);
        match &export.exported {
            Some(name) => self.exports.push((name.name().to_string(), format!("$m[{module}]"))),
            None => self.stars.push(module),
        }
        self.blank(export.span);
    }

    fn finish(mut self, is_module: bool) -> Rewritten {
        self.edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let keyword = if self.is_async { "async function" } else { "function" };
        let mut code = format!("({keyword}({PARAMETERS}){{");
        if is_module {
            // The block allows a module to declare names of the parameters, such as `__dirname`.
            code.push_str("\"use strict\";{");
            if !self.exports.is_empty() {
                code.push_str("$x({");
                for (name, value) in &self.exports {
                    let name = serde_json::Value::from(name.as_str());
                    let _ = write!(code, "{name}:()=>{value},");
                }
                code.push_str("});");
            }
            for module in &self.stars {
                let _ = write!(code, "$star($m[{module}]);");
            }
        }
        let lines = LineStarts::new(self.text);
        let first = i32::try_from(code.len()).unwrap_or(i32::MAX);
        let mut shifts = vec![Shift { line: 0, column: 0, by: first }];
        let mut at = 0;
        for edit in &self.edits {
            let (start, end) = (edit.span.start as usize, edit.span.end as usize);
            // Edits do not overlap; one inside a removed declaration is part of it.
            if start < at {
                continue;
            }
            code.push_str(&self.text[at..start]);
            code.push_str(&edit.text);
            let by = edit.text.len() as i64 - (end - start) as i64;
            if by != 0 && !self.text[start..end].contains('\n') {
                let (line, column) = lines.position(end);
                shifts.push(Shift { line, column, by: i32::try_from(by).unwrap_or(0) });
            }
            at = end;
        }
        code.push_str(&self.text[at..]);
        code.push_str(if is_module { "\n}})" } else { "\n})" });
        Rewritten { code, imports: self.imports, is_async: self.is_async, shifts }
    }
}

/// Returns the text of a property read.
fn member(module: usize, name: &ModuleExportName<'_>) -> String {
    let name = name.name();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if is_plain {
        format!("$m[{module}].{name}")
    } else {
        format!("$m[{module}][{}]", serde_json::Value::from(name.as_str()))
    }
}

fn bound_names(variables: &VariableDeclaration<'_>, names: &mut Vec<String>) {
    for declarator in &variables.declarations {
        pattern_names(&declarator.id, names);
    }
}

fn pattern_names(pattern: &BindingPattern<'_>, names: &mut Vec<String>) {
    names.extend(pattern.get_binding_identifiers().iter().map(|id| id.name.to_string()));
}

/// Finds `import()`, `import.meta` and waiting at the top level.
struct Inner<'e> {
    edits: &'e mut Vec<Edit>,
    depth: usize,
    is_async: bool,
}

impl<'a> Visit<'a> for Inner<'_> {
    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.depth += 1;
        walk::walk_function(self, function, flags);
        self.depth -= 1;
    }

    fn visit_arrow_function_expression(&mut self, function: &ArrowFunctionExpression<'a>) {
        self.depth += 1;
        walk::walk_arrow_function_expression(self, function);
        self.depth -= 1;
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        walk::walk_class(self, class);
    }

    fn visit_await_expression(&mut self, expression: &AwaitExpression<'a>) {
        self.is_async |= self.depth == 0;
        walk::walk_await_expression(self, expression);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        self.is_async |= statement.r#await && self.depth == 0;
        walk::walk_for_of_statement(self, statement);
    }

    fn visit_variable_declaration(&mut self, declaration: &VariableDeclaration<'a>) {
        self.is_async |= declaration.kind.is_await() && self.depth == 0;
        walk::walk_variable_declaration(self, declaration);
    }

    fn visit_import_expression(&mut self, expression: &ImportExpression<'a>) {
        let start = expression.span.start;
        let span = Span::new(start, start + 6);
        self.edits.push(Edit { span, text: "$import".to_owned() });
        walk::walk_import_expression(self, expression);
    }

    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.edits.push(Edit { span: meta.span, text: "$meta".to_owned() });
    }
}

/// The byte offsets at which lines begin.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn new(text: &str) -> Self {
        let after =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(after).collect())
    }

    /// Returns line and column of a byte, counted from 0; columns in bytes.
    fn position(&self, offset: usize) -> (u32, u32) {
        let line = self.0.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.0.get(line).copied().unwrap_or(0);
        let column = offset - start;
        (u32::try_from(line).unwrap_or(0), u32::try_from(column).unwrap_or(0))
    }
}
