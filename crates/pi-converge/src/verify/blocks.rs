//! Tests inside of source files in languages without an attribute for them: functions and calls by
//! their names, found by lines and indentation. Pure.

use super::inline::compact;

/// Returns the tests of a source, as texts to compare.
pub(super) fn tests(path: &str, source: &str) -> Vec<String> {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("py") => python(source),
        Some("js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx") => {
            indented(source, |line| is_call(line, &["test", "it", "Deno.test"]), true)
        }
        Some("zig") => indented(source, |line| line.starts_with("test \""), true),
        Some("d") => indented(source, |line| line.starts_with("unittest"), true),
        Some("c" | "h" | "cc" | "cpp" | "hpp") => {
            let mut tests = conditional(source);
            // Tests are often plain programs without a usual name.
            let is_assertion = |line: &&str| {
                let line = if line.starts_with('#') { "" } else { line };
                let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
                words.any(|word| {
                    let lower = word.to_ascii_lowercase();
                    lower.starts_with("assert") || lower.starts_with("expect_")
                })
            };
            tests.extend(source.lines().map(str::trim).filter(is_assertion).map(compact));
            tests
        }
        _ => Vec::new(),
    }
}

fn python(source: &str) -> Vec<String> {
    let is_function = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.strip_prefix("def ");
        name.is_some_and(|name| {
            ["test", "setUp", "setup_", "tearDown"].iter().any(|start| name.starts_with(start))
        })
    };
    let is_own = |line: &str| line.starts_with("if __name__");
    let mut tests = indented(source, is_function, false);
    let own = indented(source, is_own, false).into_iter();
    tests.extend(own.filter(|block| block.contains("assert")));
    // A class that is no test any more runs none of its functions.
    let is_class = |line: &&str| line.starts_with("class ") && line.contains("Test");
    tests.extend(source.lines().map(str::trim).filter(is_class).map(compact));
    tests
}

/// Returns true if a line begins with a call of one of these functions, or of one of their variants.
fn is_call(line: &str, names: &[&str]) -> bool {
    names.iter().any(|name| {
        let Some(rest) = line.strip_prefix(name) else { return false };
        let variant = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
        let is_call = rest.trim_start_matches(variant).starts_with(['(', '`']);
        is_call && (rest.starts_with(['.', '(']))
    })
}

/// Returns blocks that begin with a header and go on with deeper lines, with the decorators above
/// them. `has_end` says that the next line ends the block.
fn indented(source: &str, is_header: impl Fn(&str) -> bool, has_end: bool) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut blocks = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_header(line.trim_start())) {
        let above = lines.get(..at).unwrap_or_default().iter().rev();
        let decorators = above.take_while(|line| line.trim_start().starts_with('@')).count();
        let below = lines.get(at + 1..).unwrap_or_default();
        let is_inside = |other: &&&str| other.trim().is_empty() || indent(other) > indent(line);
        let mut length = below.iter().take_while(is_inside).count();
        if has_end && !line.trim_end().ends_with([')', ';']) {
            length += 1;
        }
        let end = (at + 1 + length).min(lines.len());
        blocks.push(compact(&lines.get(at - decorators..end).unwrap_or_default().join("\n")));
    }
    blocks
}

/// Returns the parts of a source that a preprocessor keeps for tests.
fn conditional(source: &str) -> Vec<String> {
    let (mut blocks, mut open, mut depth) = (Vec::new(), None::<String>, 0_usize);
    for line in source.lines() {
        let text = line.trim().replace("# ", "#");
        let is_if = text.starts_with("#if");
        if is_if && open.is_none() && text.to_ascii_uppercase().contains("TEST") {
            (open, depth) = (Some(String::new()), 0);
        }
        let Some(block) = &mut open else { continue };
        block.push_str(&compact(line));
        if is_if {
            depth += 1;
        } else if text.starts_with("#endif") {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                blocks.extend(open.take());
            }
        }
    }
    blocks.extend(open);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_and_compared_by_their_text() {
        let python = "def add(a, b):\n    return a - b\n\n\n@mark\ndef test_add():\n    assert add(2, 3) == 5\n\n\
            class AddTest(TestCase):\n    def setUp(self):\n        self.a = 1\n\n    def test_one(self):\n        pass\n\n\
            if __name__ == '__main__':\n    assert add(1, 1) == 2\n";
        let node = "export const add = (a, b) => a - b;\n\ntest('adds', () => {\n  equal(add(2, 3), 5);\n});\n\
            it.each([1])('x', () => y);\nitem(1);\n";
        let c = "int add(int a, int b) { return a - b; }\n#ifdef UNIT_TEST\n#if 1\nint main(void) { return add(2, 3) != 5; }\n#endif\n#endif\n";
        for (path, source, count) in [("a.py", python, 5), ("a.ts", node, 2), ("a.c", c, 1)] {
            let before = tests(path, source);
            assert_eq!(before.len(), count, "{before:#?}");
            let repaired = source.replacen("a - b", "a + b", 1);
            assert_eq!(tests(path, &repaired), before, "{path}");
            let cheated = source.replace("5", "-1");
            assert_ne!(tests(path, &cheated), before, "{path}");
        }
        let program = "int main(void) {\n    assert(add(2, 3) == 5);\n    return 0;\n}\n";
        assert_eq!(tests("cases.c", program), ["assert(add(23)==5);"]);
        let skipped = python.replace("@mark", "@skip");
        assert_ne!(tests("a.py", &skipped), tests("a.py", python));
        assert!(tests("a.txt", python).is_empty());
    }
}
