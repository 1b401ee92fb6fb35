//! Cycles between the top-level modules of a crate.
//!
//! A module that a module below needs cannot be read, tested or moved alone. References are the
//! paths `crate::name` and `super::name` in product code, with names that the root of the crate
//! re-exports followed to their modules. This file knows no module by name.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Finding;
use crate::files::SourceFile;

/// One place where a module names another one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reference {
    file: String,
    line: usize,
    path: String,
}

/// The references between the modules of a crate: from, to, and the first place.
type Modules = BTreeMap<String, BTreeMap<String, Reference>>;

/// Checks the modules of all crates.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_source() && !file.is_test()) {
        if let Some((name, _)) = file.path.split_once("/src/") {
            crates.entry(name).or_default().push(file);
        }
    }
    let mut findings = Vec::new();
    for files in crates.values() {
        let modules = modules(files);
        findings.extend(groups(&modules).iter().filter_map(|group| describe(&modules, group)));
    }
    findings
}

/// Returns the references between the modules of a crate.
fn modules(files: &[&SourceFile]) -> Modules {
    let names: BTreeSet<&str> = files.iter().filter_map(|file| module_path(file)?.0).collect();
    let roots = files.iter().filter(|file| module_path(file).is_some_and(|path| path.0.is_none()));
    let exported: BTreeMap<String, String> =
        roots.flat_map(|root| exports(&code(root), &names)).collect();
    let mut modules = Modules::new();
    for file in files {
        let Some((Some(own), depth)) = module_path(file) else { continue };
        for (line, path) in references(&code(file), depth) {
            let first = path.split("::").next().unwrap_or_default();
            let target = exported.get(first).map_or(first, String::as_str);
            if target == own || !names.contains(target) {
                continue;
            }
            let place = Reference { file: file.path.clone(), line, path: path.clone() };
            let targets = modules.entry(own.to_owned()).or_default();
            targets.entry(target.to_owned()).or_insert(place);
        }
    }
    modules
}

/// Returns the top-level module of a file and the depth of the file's module. The root of a crate
/// has no module; other binaries are not checked.
fn module_path(file: &SourceFile) -> Option<(Option<&str>, usize)> {
    let (_, inside) = file.path.split_once("/src/")?;
    let inside = inside.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    match inside.split('/').next()? {
        "bin" => None,
        "lib" | "main" => Some((None, 0)),
        first => Some((Some(first), inside.split('/').count())),
    }
}

/// Returns product code without comments, with the same lines.
fn code(file: &SourceFile) -> String {
    let mut code = String::new();
    let mut next = 1;
    for (number, line) in file.product_lines() {
        while next < number {
            code.push('\n');
            next += 1;
        }
        let is_comment = line.trim_start().starts_with("//");
        let line = line.split_once(" // ").map_or(line, |(code, _)| code);
        code.push_str(if is_comment { "" } else { line });
        code.push('\n');
        next += 1;
    }
    code
}

/// Returns the names that the root of a crate imports from its modules.
fn exports(code: &str, modules: &BTreeSet<&str>) -> Vec<(String, String)> {
    let mut exports = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let (statement, _) = code[at + 4..].split_once(';').unwrap_or_default();
        for path in expand(statement) {
            let Some((module, rest)) = path.split_once("::") else { continue };
            let name = rest.rsplit("::").next().unwrap_or_default();
            // The root has the name after `as`.
            let name = name.rsplit(" as ").next().unwrap_or_default();
            if modules.contains(module) {
                exports.push((name.to_owned(), module.to_owned()));
            }
        }
    }
    exports
}

/// Returns the paths from the root of the crate that code of this depth names, with their lines.
fn references(code: &str, depth: usize) -> Vec<(usize, String)> {
    let root = "super::".repeat(depth);
    let mut found = Vec::new();
    for (prefix, at) in ["crate::", root.as_str()]
        .iter()
        .flat_map(|prefix| code.match_indices(prefix).map(|(at, _)| (prefix.len(), at)))
    {
        let before = code[..at].chars().next_back();
        // Not the end of a longer path or name.
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':')) {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        found.extend(expand(&code[at + prefix..]).into_iter().map(|path| (line, path)));
    }
    found
}

/// Returns the paths at the beginning of a text: `a::b`, or those of a group `{a, b::{c, d}}`.
fn expand(text: &str) -> Vec<String> {
    let text = text.trim_start();
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{').filter(|_| path.is_empty() || path.ends_with("::"))
    else {
        let renamed = rest.strip_prefix(" as ").map(expand);
        let renamed = renamed.and_then(|names| names.first().map(|name| format!(" as {name}")));
        let path = path.trim_end_matches(':');
        return match path.is_empty() {
            true => Vec::new(),
            false => vec![format!("{path}{}", renamed.unwrap_or_default())],
        };
    };
    let mut paths = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let inner = expand(&group[start..at]);
                paths.extend(inner.into_iter().map(|inner| format!("{path}{inner}")));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    paths
}

/// Returns the groups of modules that reach each other.
fn groups(modules: &Modules) -> Vec<BTreeSet<String>> {
    let mut left: BTreeSet<&String> = modules.keys().collect();
    let mut groups = Vec::new();
    while let Some(module) = left.pop_first() {
        let reached = reach(modules, module);
        let is_mutual = |other: &&String| reach(modules, other).contains(module.as_str());
        let group: BTreeSet<String> = reached
            .iter()
            .filter_map(|other| modules.get_key_value(*other))
            .map(|(other, _)| other)
            .filter(is_mutual)
            .cloned()
            .collect();
        left.retain(|other| !group.contains(*other));
        if group.contains(module) {
            groups.push(group);
        }
    }
    groups
}

/// Returns the modules that a module reaches.
fn reach<'a>(modules: &'a Modules, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = vec![from];
    while let Some(module) = waiting.pop() {
        for next in modules.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.as_str()) {
                waiting.push(next);
            }
        }
    }
    reached
}

/// Describes a shortest cycle of a group, with one reference for each step.
fn describe(modules: &Modules, group: &BTreeSet<String>) -> Option<Finding> {
    let cycles = group.iter().filter_map(|module| shortest_cycle(modules, module));
    let cycle = cycles.min_by_key(Vec::len)?;
    let first = cycle.first()?.1;
    let steps: Vec<String> = cycle
        .iter()
        .map(|(from, place)| {
            format!("  {from} names {} in {}:{}", place.path, place.file, place.line)
        })
        .collect();
    let all: Vec<&str> = group.iter().map(String::as_str).collect();
    let advice = format!(
        "the modules {} form a cycle; move what they share into a module below them:\n{}",
        all.join(", "),
        steps.join("\n")
    );
    Some(Finding::new(&first.file, first.line, advice))
}

/// Returns the shortest way from a module back to itself.
fn shortest_cycle<'a>(
    modules: &'a Modules,
    start: &'a str,
) -> Option<Vec<(&'a str, &'a Reference)>> {
    let mut came_from: BTreeMap<&str, (&str, &Reference)> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(module) = waiting.pop_front() {
        for (next, place) in modules.get(module).into_iter().flatten() {
            if came_from.contains_key(next.as_str()) {
                continue;
            }
            came_from.insert(next, (module, place));
            waiting.push_back(next);
        }
    }
    let mut cycle = Vec::new();
    let mut module = start;
    loop {
        let (before, place) = *came_from.get(module)?;
        cycle.push((before, place));
        module = before;
        if module == start {
            cycle.reverse();
            return Some(cycle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> =
            files.iter().map(|(path, text)| file(&format!("crates/x/src/{path}"), text)).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn layers_pass() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
            ("a.rs", "mod deep;\nuse self::deep::D;\n//! See crate::b.\n"),
            ("a/deep.rs", "use super::other;\nfn f() {} // crate::b\n"),
            ("b.rs", "use crate::{A, a::deep};\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"),
            ("b/tests.rs", "use crate::c;\n"),
        ];
        assert_eq!(findings(&files), [] as [&str; 0]);
    }

    #[test]
    fn every_kind_of_reference_closes_a_cycle() {
        let back = "use crate::a::A;\n";
        let cases = [
            "fn f() -> crate::b::B { todo() }\n",
            "use crate::b;\n",
            "use crate::{\n    std_like,\n    b::{B, C},\n};\n",
            "use super::b::B;\n",
            "use crate::Exported;\n",
            "use crate::Renamed;\n",
        ];
        for case in cases {
            let root = "mod a;\nmod b;\npub use b::{Exported, Inner as Renamed};\n";
            let found = findings(&[("lib.rs", root), ("a.rs", case), ("b.rs", back)]);
            assert_eq!(found.len(), 1, "{case}: {found:?}");
        }
        let nested = [("lib.rs", ""), ("a/c.rs", "use super::super::b::B;\n"), ("b.rs", back)];
        assert_eq!(findings(&nested).len(), 1);
    }

    #[test]
    fn a_cycle_is_described_with_its_references() {
        let files = [
            ("main.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "\nuse crate::b::B;\n"),
            ("b.rs", "use crate::c::C;\n"),
            ("c/d.rs", "use crate::a::A;\n"),
        ];
        let found = findings(&files);
        assert_eq!(
            found,
            ["crates/x/src/a.rs:2: the modules a, b, c form a cycle; move what they share into a \
              module below them:\n  \
              a names b::B in crates/x/src/a.rs:2\n  \
              b names c::C in crates/x/src/b.rs:1\n  \
              c names a::A in crates/x/src/c/d.rs:1"]
        );
    }
}
