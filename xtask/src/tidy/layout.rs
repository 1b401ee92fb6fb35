//! The layout of files: their first line, their white space, and their `mod` declaration.

use super::Finding;
use crate::files::SourceFile;

/// The only source of locked packages. A mirror or a fork in a lock file would affect every user.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Every Rust file begins with a comment on its purpose.
pub(super) fn docs_first(files: &[SourceFile]) -> Vec<Finding> {
    let silent = |file: &&SourceFile| file.is_rust() && !file.text.starts_with("//! ");
    let advice = "begin the file with a `//!` line on its purpose";
    files.iter().filter(silent).map(|file| Finding::new(&file.path, 1, advice)).collect()
}

/// No white space at the end of a line, one newline at the end of a file.
pub(super) fn whitespace(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !file.path.ends_with(".lock")) {
        // `lines` would hide a carriage return.
        for (at, line) in file.text.split('\n').enumerate() {
            if line.trim_end() != line {
                findings.push(Finding::new(&file.path, at + 1, "remove white space at the end"));
            }
        }
        if !file.text.ends_with('\n') || file.text.ends_with("\n\n") {
            let last = file.text.lines().count();
            findings.push(Finding::new(&file.path, last, "end the file with one newline"));
        }
    }
    findings
}

/// A file that no `mod` line names is not compiled, and its tests do not run.
pub(super) fn orphans(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let Some((parents, module)) = parents(&file.path) else { continue };
        let declaration = format!("mod {module};");
        let declares = |parent: &SourceFile| {
            parents.contains(&parent.path)
                && parent.lines().any(|(_, line)| {
                    let line = line.trim_start();
                    line == declaration
                        || (line.starts_with("pub") && line.ends_with(&format!(" {declaration}")))
                })
        };
        if !files.iter().any(declares) {
            let advice = format!("no file declares this module; add `{declaration}` to its parent");
            findings.push(Finding::new(&file.path, 0, advice));
        }
    }
    findings
}

/// The files that may declare the module in the file at `path`, and its name. `None` for the root
/// of a crate and for files outside of crates.
fn parents(path: &str) -> Option<(Vec<String>, &str)> {
    let module = path.strip_suffix(".rs")?;
    let root = ["/src/", "/tests/it/"]
        .iter()
        .find_map(|directory| path.find(directory).map(|at| at + directory.len()))?;
    let (base, inside) = module.split_at(root);
    // `a/mod.rs` is the module `a`, as `a.rs` is.
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    match inside.rsplit_once('/') {
        None if matches!(inside, "lib" | "main") => None,
        None => Some((vec![format!("{base}lib.rs"), format!("{base}main.rs")], inside)),
        Some(("bin", _)) => None,
        Some((parent, name)) => {
            Some((vec![format!("{base}{parent}.rs"), format!("{base}{parent}/mod.rs")], name))
        }
    }
}

/// Locked packages come from the registry alone.
pub(super) fn lock_sources(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".lock")) {
        for (number, line) in file.lines() {
            if let Some(source) = line.strip_prefix("source = ")
                && source.trim_matches('"') != REGISTRY
            {
                let advice = "a package that is not from crates.io; depend on a released version";
                findings.push(Finding::new(&file.path, number, advice));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn files_without_a_beginning_are_found() {
        let files = [file("a/src/lib.rs", "//! Good.\n"), file("a.md", "# Not Rust\n")];
        assert_eq!(docs_first(&files), []);
        for bad in ["", "use std::fs;\n", "// Not a doc comment.\n", "//!\n", "\n//! Late.\n"] {
            assert_eq!(docs_first(&[file("a/src/b.rs", bad)]).len(), 1, "{bad:?}");
        }
    }

    #[test]
    fn white_space_is_found() {
        assert_eq!(whitespace(&[file("a.rs", "a\n\nb\n"), file("b.lock", "a ")]), []);
        let cases =
            [("a \n", 1), ("a\nb\t\nc\n", 2), ("a\r\n", 1), ("a", 1), ("a\nb\n\n", 3), ("", 0)];
        for (text, line) in cases {
            let found = whitespace(&[file("a.md", text)]);
            assert!(found.len() == 1 && found[0].line == line, "{text:?}: {found:?}");
        }
    }

    #[test]
    fn forgotten_files_are_found() {
        let tree = |main: &str, nested: &str| {
            [
                file("crates/a/src/lib.rs", "pub mod b;\npub(crate) mod e;\n"),
                file("crates/a/src/b.rs", nested),
                file("crates/a/src/b/c.rs", ""),
                file("crates/a/src/e/mod.rs", "mod f;\n"),
                file("crates/a/src/e/f.rs", ""),
                file("crates/a/tests/it/main.rs", main),
                file("crates/a/tests/it/d.rs", ""),
            ]
        };
        let found = |main: &str, nested: &str| -> Vec<String> {
            orphans(&tree(main, nested)).into_iter().map(|finding| finding.file).collect()
        };
        assert_eq!(found("#[cfg(x)]\nmod d;\n", "mod c;\n"), [] as [&str; 0]);
        assert_eq!(found("", "mod c;\n"), ["crates/a/tests/it/d.rs"]);
        assert_eq!(found("// mod d;\n", "mod c;\n"), ["crates/a/tests/it/d.rs"]);
        assert_eq!(found("mod d;\n", "mod cc;\n"), ["crates/a/src/b/c.rs"]);
        let undeclared = [file("crates/a/src/lib.rs", ""), file("crates/a/src/e/mod.rs", "")];
        assert_eq!(orphans(&undeclared).len(), 1);
    }

    #[test]
    fn foreign_sources_are_found() {
        let lock =
            |source: &str| file("Cargo.lock", &format!("name = \"a\"\nsource = \"{source}\"\n"));
        assert_eq!(lock_sources(&[lock(REGISTRY)]), []);
        for bad in ["registry+https://mirror.example/index", "git+https://example.com/a#1"] {
            assert_eq!(lock_sources(&[lock(bad)])[0].line, 2, "{bad}");
        }
    }
}
