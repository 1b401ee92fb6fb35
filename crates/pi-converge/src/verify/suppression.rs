//! Remarks in source code that tell a linter, compiler, formatter or coverage tool to be silent. Pure.
//!
//! A run may add one. Whether it decides a check is found by making the check without it: the
//! source gets a version without the added remarks. A form that is not known here has no such
//! version, and the remark then counts as work.

use std::ops::Range;

use super::inline::{self, compact};

/// Words of remarks that are comments.
const IN_COMMENTS: &[&str] = &[
    "noqa",
    "nosec",
    "nolint",
    "type: ignore",
    "mypy:",
    "pyright:",
    "pylint:",
    "pyre-ignore",
    "pyre-fixme",
    "pytype: disable",
    "flake8:",
    "ruff:",
    "isort: skip",
    "isort:skip",
    "fmt: off",
    "fmt: skip",
    "yapf: disable",
    "pragma: no cover",
    "pragma: allowlist",
    "eslint-disable",
    "eslint ",
    "oxlint-disable",
    "stylelint-disable",
    "tslint:disable",
    "jshint ",
    "deno-lint-ignore",
    "deno-coverage-ignore",
    "biome-ignore",
    "prettier-ignore",
    "istanbul ignore",
    "c8 ignore",
    "v8 ignore",
    "@ts-ignore",
    "@ts-nocheck",
    "@ts-expect-error",
    "@flow",
    "clang-format off",
    "cppcheck-suppress",
    "rubocop:disable",
    "shellcheck disable",
    "checkstyle:off",
    "noinspection",
    "nopmd",
    "nosonar",
    "swiftlint:disable",
    "ktlint-disable",
    "phpcs:ignore",
    "phpcs:disable",
    "@phpstan-ignore",
    "@psalm-suppress",
    "hadolint ignore",
    "yamllint disable",
    "markdownlint-disable",
    "gosec",
    "staticcheck:",
    "lint:ignore",
    "revive:disable",
    "golangci-lint",
    "credo:disable",
    "luacheck:",
    "spellcheck",
    "@generated",
    "code generated",
];
/// Beginnings of attributes and annotations, up to the bracket that they end with.
const ATTRIBUTES: &[&str] = &[
    "#[allow",
    "#![allow",
    "#[expect",
    "#![expect",
    "#[cfg_attr",
    "#![cfg_attr",
    "#[rustfmt::skip",
    "#![rustfmt::skip",
    "#[automatically_derived",
    "#[coverage",
    "@SuppressWarnings(",
    "@Suppress(",
    "@file:Suppress(",
    "[SuppressMessage(",
];
/// Beginnings of directives, each a line of its own.
const DIRECTIVES: &[&str] = &[
    "#pragma warning",
    "#pragma gcc diagnostic",
    "#pragma clang diagnostic",
    "#nullable disable",
    "@no_type_check",
    "@typing.no_type_check",
];
/// Beginnings of comments.
const COMMENTS: &[&str] = &["//", "/*", "#", "--", "<!--"];

/// Returns the new source without the remarks that the old one does not have, if there are any.
pub(super) fn without_added(old: &str, new: &str) -> Option<String> {
    let mut text = without_attributes(old, new);
    if has_remark(&text) {
        text = without_comments(old, &text);
    }
    (text != new).then_some(text)
}

fn without_attributes(old: &str, new: &str) -> String {
    let mut known: Vec<String> =
        attributes(old).into_iter().filter_map(|range| old.get(range)).map(compact).collect();
    let mut text = String::with_capacity(new.len());
    let mut from = 0;
    for range in attributes(new) {
        let attribute = compact(new.get(range.clone()).unwrap_or(""));
        if let Some(at) = known.iter().position(|other| *other == attribute) {
            known.swap_remove(at);
            continue;
        }
        text.push_str(new.get(from..range.start).unwrap_or(""));
        from = range.end;
    }
    text.push_str(new.get(from..).unwrap_or(""));
    text
}

/// Returns the ranges of the attributes that silence something, in order.
fn attributes(source: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for start in ATTRIBUTES {
        for (at, _) in source.match_indices(start) {
            let open = start.find(['[', '(']).unwrap_or(0);
            let end = inline::block_end(source.as_bytes(), at + open);
            let text = source.get(at..end).unwrap_or("");
            let silences = !start.contains("cfg_attr")
                || ["allow", "expect", "rustfmt", "path"].iter().any(|word| text.contains(word));
            if silences
                && !found.iter().any(|other: &Range<usize>| other.start < end && at < other.end)
            {
                found.push(at..end);
            }
        }
    }
    found.sort_by_key(|range| range.start);
    found
}

fn without_comments(old: &str, new: &str) -> String {
    let mut known: Vec<&str> = old.lines().filter(|line| has_remark(line)).map(str::trim).collect();
    let mut text = String::with_capacity(new.len());
    for line in new.split_inclusive('\n') {
        let trimmed = line.trim();
        if let Some(at) = known.iter().position(|other| *other == trimmed) {
            known.swap_remove(at);
            text.push_str(line);
        } else {
            text.push_str(&silenced(line).unwrap_or_else(|| line.to_owned()));
        }
    }
    text
}

fn has_remark(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    IN_COMMENTS.iter().chain(DIRECTIVES).any(|word| lower.contains(word))
}

/// Returns a line without its remark, if it has one.
fn silenced(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let end = line.get(line.trim_end_matches(['\n', '\r']).len()..)?;
    if DIRECTIVES.iter().any(|directive| lower.trim_start().starts_with(directive)) {
        return Some(end.to_owned());
    }
    let word = IN_COMMENTS.iter().filter_map(|word| lower.find(word)).min()?;
    let before = line.get(..word)?;
    let at = COMMENTS.iter().filter_map(|comment| before.rfind(comment)).max()?;
    let (before, rest) = (line.get(..at)?, line.get(at..)?);
    let close =
        ["*/", "-->"].iter().filter_map(|close| Some(rest.find(close)? + close.len())).min();
    let after = close.map_or(Some(end), |close| rest.get(close..))?;
    Some(format!("{}{after}", before.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_remarks_are_taken_out() {
        let cases = [
            ("import os\n", "import os  # noqa: F401\n", Some("import os\n")),
            ("", "# ruff: noqa\nx = 1\n", Some("\nx = 1\n")),
            ("", "return x  # type: ignore[return-value]\n", Some("return x\n")),
            ("", "#![allow(clippy::all)]\npub fn a() {}\n", Some("\npub fn a() {}\n")),
            ("", "    #[allow(unused)] fn a() {}\n", Some("     fn a() {}\n")),
            ("", "/* eslint-disable */ let x;\n", Some(" let x;\n")),
            ("", "// @ts-nocheck\nlet x: any;\n", Some("\nlet x: any;\n")),
            ("", "#![allow(\n    clippy::all,\n)]\nfn a() {}\n", Some("\nfn a() {}\n")),
            ("#[allow(unused)]\n", "\n#[allow(unused)]\n", None),
            ("", "#[cfg_attr(test, derive(Debug))]\nstruct A;\n", None),
            ("", "#[rustfmt::skip]\nfn a() {}\n", Some("\nfn a() {}\n")),
            ("", "#[cfg_attr(test, path = \"b.rs\")]\nmod a;\n", Some("\nmod a;\n")),
            ("", "// @generated\nfn a() {}\n", Some("\nfn a() {}\n")),
            ("", "@no_type_check\ndef a(): ...\n", Some("\ndef a(): ...\n")),
            ("", "let url = \"a\"; // eslint-disable-line\n", Some("let url = \"a\";\n")),
            ("", "#pragma GCC diagnostic ignored \"-Wall\"\nint a;\n", Some("\nint a;\n")),
            ("import os  # noqa\n", "x = 1\nimport os  # noqa\n", None),
            ("", "print('no remark')\n", None),
            ("", "noqa = 3\n", None),
        ];
        for (old, new, expected) in cases {
            assert_eq!(without_added(old, new).as_deref(), expected, "{new}");
        }
    }
}
