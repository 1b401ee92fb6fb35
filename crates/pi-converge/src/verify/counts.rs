//! The number of tests that a command ran, read from the summary lines of common test runners.

use regex_lite::Regex;

/// Returns the number of tests that ran, passed or not, if a runner reported it. Skipped and
/// ignored tests do not count, and neither do tests that are expected to fail: the code under test
/// can declare itself so.
pub(super) fn tests_run(output: &str) -> Option<u64> {
    // In the order of trust: a summary of one runner may look like a part of another's.
    [cargo, nextest, pytest, unittest, jest, vitest, node, go]
        .into_iter()
        .find_map(|runner| runner(output))
}

/// Adds the groups of all matches. `None` if there is none.
fn sum(pattern: &str, output: &str) -> Option<u64> {
    let pattern = Regex::new(pattern).ok()?;
    let mut total = None;
    for found in pattern.captures_iter(output) {
        let groups = found.iter().skip(1).flatten();
        let numbers = groups.filter_map(|group| group.as_str().parse::<u64>().ok());
        total = Some(total.unwrap_or(0) + numbers.sum::<u64>());
    }
    total
}

/// Reads the last line that matches `line`, and adds the numbers before any of the words.
fn words(line: &str, words: &str, output: &str) -> Option<u64> {
    let line = Regex::new(line).ok()?;
    let summary = output.lines().rev().find(|text| line.is_match(text))?;
    sum(&format!(r"([0-9]+) (?:{words})"), summary).or(Some(0))
}

fn cargo(output: &str) -> Option<u64> {
    sum(r"test result: [A-Za-z]+\. ([0-9]+) passed; ([0-9]+) failed;", output)
}

fn nextest(output: &str) -> Option<u64> {
    sum(r"Summary \[[^\]]*\]\s+([0-9]+)(?:/[0-9]+)? tests? run", output)
}

fn pytest(output: &str) -> Option<u64> {
    let line = r"^=* ?(?:[0-9]+ [a-z]+(?:, )?)+ in [0-9.]+ ?s.*$|^=* no tests ran in ";
    words(line, "passed|failed|error|xpassed", output)
}

fn unittest(output: &str) -> Option<u64> {
    let run = sum(r"Ran ([0-9]+) tests? in [0-9.]+s", output)?;
    let details = Regex::new(r"(?m)^(?:OK|FAILED) \((.*)\)$").ok()?;
    let kinds = r"(?:skipped|expected failures)=([0-9]+)";
    let without =
        details.captures_iter(output).filter_map(|found| sum(kinds, found.get(1)?.as_str()));
    Some(run.saturating_sub(without.sum()))
}

fn jest(output: &str) -> Option<u64> {
    words(r"^Tests: .* total", "passed|failed", output)
}

fn vitest(output: &str) -> Option<u64> {
    words(r"^\s*Tests\s+.*(passed|failed|skipped).*\([0-9]+\)", "passed|failed", output)
}

/// The test runner of Node, and mocha.
fn node(output: &str) -> Option<u64> {
    let of_node = sum(r"(?m)^(?:# |ℹ )(?:pass|fail) ([0-9]+)$", output);
    of_node.or_else(|| sum(r"(?m)^\s+([0-9]+) (?:passing|failing)", output))
}

/// Go reports single tests only with `-v`.
fn go(output: &str) -> Option<u64> {
    let pattern = Regex::new(r"(?m)^\s*--- (?:PASS|FAIL): ").ok()?;
    Some(pattern.find_iter(output).count() as u64).filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_runners() {
        let cases = [
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored;",
                Some(6),
            ),
            (
                "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
                Some(0),
            ),
            ("     Summary [   0.012s] 4 tests run: 4 passed, 1 skipped", Some(4)),
            ("==== 2 failed, 3 passed, 1 skipped in 0.12s ====", Some(5)),
            ("3 passed in 0.01s", Some(3)),
            ("==== no tests ran in 0.00s ====", Some(0)),
            ("1 skipped in 0.01s", Some(0)),
            ("......\n------\nRan 6 tests in 0.001s\n\nOK", Some(6)),
            ("Ran 6 tests in 0.001s\n\nOK (skipped=2, expected failures=1)", Some(3)),
            ("Ran 6 tests in 0.001s\n\nFAILED (failures=1, skipped=2)", Some(4)),
            ("1 passed, 2 xfailed in 0.01s", Some(1)),
            ("Tests:       1 failed, 2 skipped, 3 passed, 6 total\nTime: 1 s", Some(4)),
            ("      Tests  3 passed | 1 skipped (4)\n", Some(3)),
            ("# tests 3\n# pass 2\n# fail 1\n", Some(3)),
            ("  5 passing (10ms)\n  1 failing\n", Some(6)),
            ("=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL", Some(2)),
            ("ok  \texample.com/a\t0.01s", None),
            ("", None),
            ("everything passed", None),
        ];
        for (output, expected) in cases {
            assert_eq!(tests_run(output), expected, "{output}");
        }
    }
}
