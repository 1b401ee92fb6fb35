//! What a file uses: imports, globals, events, members of the API.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, CallExpression, Expression, ImportDeclaration, ImportDeclarationSpecifier,
    ImportExpression, Statement, StaticMemberExpression,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::GetSpan as _;

use crate::source::{SyntaxProblem, source_type};

/// A position, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A module that a file imports, with the names that it uses as values.
#[derive(Debug, Default)]
pub(super) struct Import {
    pub(super) specifier: String,
    pub(super) place: Place,
    pub(super) names: Vec<(String, Place)>,
}

/// What a file uses.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    pub(super) imports: Vec<Import>,
    pub(super) globals: Vec<(String, Place)>,
    pub(super) events: Vec<(String, Place)>,
    /// Object (`pi`, `ctx`, `ctx.ui`) and member.
    pub(super) members: Vec<(String, String, Place)>,
}

impl Default for Place {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

/// Reads a file.
pub(super) fn analyze(path: &Path, text: &str) -> Result<Analysis, SyntaxProblem> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type(path)).parse();
    if let Some(error) = parsed.diagnostics.iter().next() {
        return Err(SyntaxProblem::new(text, error));
    }
    let built = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program);
    let mut analyzer = Analyzer { text, semantic: &built.semantic, analysis: Analysis::default() };
    for statement in &parsed.program.body {
        match statement {
            Statement::ImportDeclaration(import) => analyzer.import(import),
            Statement::ExportFromDeclaration(export) if export.export_kind.is_value() => {
                analyzer.module(&export.source.value, export.source.span.start);
            }
            Statement::ExportAllDeclaration(export) if export.export_kind.is_value() => {
                analyzer.module(&export.source.value, export.source.span.start);
            }
            _ => {}
        }
    }
    analyzer.globals();
    analyzer.visit_program(&parsed.program);
    Ok(analyzer.analysis)
}

struct Analyzer<'s, 'a> {
    text: &'s str,
    semantic: &'s Semantic<'a>,
    analysis: Analysis,
}

impl<'a> Analyzer<'_, 'a> {
    fn place(&self, offset: u32) -> Place {
        let before = self.text.get(..offset as usize).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Place { line, column }
    }

    fn module(&mut self, specifier: &str, offset: u32) -> usize {
        let place = self.place(offset);
        self.analysis.imports.push(Import {
            specifier: specifier.to_owned(),
            place,
            names: Vec::new(),
        });
        self.analysis.imports.len() - 1
    }

    /// Adds an import, unless all its names are types or unused.
    fn import(&mut self, import: &ImportDeclaration<'a>) {
        if import.import_kind.is_type() {
            return;
        }
        let Some(specifiers) = &import.specifiers else {
            self.module(&import.source.value, import.source.span.start);
            return;
        };
        let mut names = Vec::new();
        let mut is_used = specifiers.is_empty();
        for specifier in specifiers {
            let local = specifier.local();
            let Some(symbol) = local.symbol_id.get() else { continue };
            let references = self.semantic.scoping().get_resolved_references(symbol);
            let values: Vec<_> = references.filter(|reference| !reference.is_type()).collect();
            if values.is_empty() {
                continue;
            }
            is_used = true;
            match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(one) => {
                    names.push((one.imported.name().to_string(), self.place(one.span.start)));
                }
                // The members that are used of a namespace or a default export.
                _ => {
                    for reference in values {
                        let parent = self.semantic.nodes().parent_kind(reference.node_id());
                        if let AstKind::StaticMemberExpression(member) = parent {
                            let place = self.place(member.property.span.start);
                            names.push((member.property.name.to_string(), place));
                        }
                    }
                }
            }
        }
        if is_used {
            let at = self.module(&import.source.value, import.source.span.start);
            self.analysis.imports[at].names = names;
        }
    }

    /// Adds the names that no scope declares. `typeof name` asks whether it exists.
    fn globals(&mut self) {
        let scoping = self.semantic.scoping();
        let mut found = Vec::new();
        for (name, references) in scoping.root_unresolved_references() {
            for id in references {
                let reference = scoping.get_reference(*id);
                let parent = self.semantic.nodes().parent_kind(reference.node_id());
                let asks =
                    matches!(parent, AstKind::UnaryExpression(unary) if unary.operator.is_typeof());
                if !reference.is_type() && !asks {
                    let span = self.semantic.nodes().kind(reference.node_id()).span();
                    found.push((name.to_string(), self.place(span.start)));
                    break;
                }
            }
        }
        self.analysis.globals = found;
    }
}

impl<'a> Visit<'a> for Analyzer<'_, 'a> {
    fn visit_import_expression(&mut self, expression: &ImportExpression<'a>) {
        if let Expression::StringLiteral(literal) = &expression.source {
            self.module(&literal.value, literal.span.start);
        }
        walk::walk_import_expression(self, expression);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Expression::StaticMemberExpression(member) = &call.callee
            && member.property.name == "on"
            && matches!(&member.object, Expression::Identifier(name) if name.name == "pi")
            && let Some(Argument::StringLiteral(event)) = call.arguments.first()
        {
            let place = self.place(event.span.start);
            self.analysis.events.push((event.value.to_string(), place));
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        let object = match &member.object {
            Expression::Identifier(name) if name.name == "pi" || name.name == "ctx" => {
                Some(name.name.to_string())
            }
            Expression::StaticMemberExpression(inner) if inner.property.name == "ui" => {
                let is_context =
                    matches!(&inner.object, Expression::Identifier(name) if name.name == "ctx");
                is_context.then(|| "ctx.ui".to_owned())
            }
            _ => None,
        };
        if let Some(object) = object
            && !member.optional
        {
            let place = self.place(member.property.span.start);
            self.analysis.members.push((object, member.property.name.to_string(), place));
        }
        walk::walk_static_member_expression(self, member);
    }
}
