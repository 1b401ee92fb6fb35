//! A lint of the modules in `js/`: they parse, every binding is used, and nothing is left over from
//! debugging. `cargo xtask tidy` checks their sizes and headers.

use std::fs;
use std::path::{Path, PathBuf};

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::BindingPattern;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

#[test]
fn modules_have_no_unused_bindings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("src/codemode/prelude.js")];
    collect(&root.join("js"), &mut files);
    assert!(files.len() > 200, "{} files were found", files.len());
    let problems: Vec<String> = files
        .iter()
        .flat_map(|path| {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let found = lint(&fs::read_to_string(path).unwrap());
            found.into_iter().map(move |problem| format!("{name}:{problem}"))
        })
        .collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn the_lint_finds_problems() {
    for (text, expected) in [
        ("const { a, b } = require('x');\nexports.a = a;", "1: b is unused"),
        ("function f() {\n\tconst g = 1;\n}\nf();", "2: g is unused"),
        ("let a;\na = 1;", "1: a is unused"),
        ("debugger;", "1: remove `debugger`"),
        ("console.log(1);", "1: remove `console.log`"),
        ("const = 1;", "1: Unexpected token"),
    ] {
        let found = lint(text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text}: {found:?}");
    }
    for text in [
        "exports.a = function a(b, c) { return c; };",
        "try { f(); } catch (_error) { g(); }",
        "class A {}\nmodule.exports = { A, [Symbol()]: (x) => 1 };",
        "for (const [_key, value] of pairs) value();",
        "const { a, ...rest } = b;\nrest();",
    ] {
        assert_eq!(lint(text), Vec::<String>::new(), "{text}");
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "js") {
            files.push(path);
        }
    }
}

/// Returns the problems of a module, each with its line.
fn lint(text: &str) -> Vec<String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::cjs()).parse();
    if let Some(error) = parsed.diagnostics.iter().next() {
        return vec![format!("1: {}", error.message)];
    }
    let built = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program);
    let (scoping, nodes) = (built.semantic.scoping(), built.semantic.nodes());
    let line = |offset: u32| text[..offset as usize].matches('\n').count() + 1;
    let mut problems = Vec::new();
    for symbol in scoping.symbol_ids() {
        let declaration = built.semantic.symbol_declaration(symbol).kind();
        // Parameters are part of a signature, and a name of an expression is for stacks.
        let is_free = match declaration {
            AstKind::FormalParameter(_)
            | AstKind::FormalParameterRest(_)
            | AstKind::CatchParameter(_) => true,
            AstKind::Function(function) => function.is_expression(),
            AstKind::Class(class) => class.is_expression(),
            // The names before a rest are those that the rest leaves out.
            AstKind::VariableDeclarator(declarator) => {
                matches!(&declarator.id, BindingPattern::ObjectPattern(one) if one.rest.is_some())
            }
            _ => false,
        };
        let name = scoping.symbol_name(symbol);
        let is_read = scoping.get_resolved_references(symbol).any(|one| one.is_read());
        if !is_free && !is_read && !name.starts_with('_') {
            problems.push(format!("{}: {name} is unused", line(scoping.symbol_span(symbol).start)));
        }
    }
    for node in nodes.iter() {
        match node.kind() {
            AstKind::DebuggerStatement(found) => {
                problems.push(format!("{}: remove `debugger`", line(found.span.start)));
            }
            AstKind::StaticMemberExpression(found)
                if found.property.name == "log" && found.object.is_specific_id("console") =>
            {
                problems.push(format!("{}: remove `console.log`", line(found.span.start)));
            }
            _ => {}
        }
    }
    problems
}
