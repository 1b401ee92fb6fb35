//! Limits on the length of files.
//!
//! A file of more than 500 lines without its tests usually has two subjects: split it. A file of
//! more than 800 lines with its tests is hard to read in any case.

use super::Finding;
use crate::files::SourceFile;

/// The limit for a file with its tests.
const MAX_LINES: usize = 800;

/// The limit for a file without its tests.
const MAX_PRODUCT_LINES: usize = 500;

/// Files that may be longer without their tests, with the reason why they have one subject.
const LONG: &[(&str, &str)] = &[];

/// Checks the length of each file.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    check_with(files, LONG)
}

fn check_with(files: &[SourceFile], long: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_source()) {
        let (all, product) = (file.lines().count(), file.product_lines().count());
        if all > MAX_LINES {
            let advice = format!("{all} lines, of at most {MAX_LINES}; split it");
            findings.push(Finding::new(&file.path, MAX_LINES + 1, advice));
        } else if product > MAX_PRODUCT_LINES && !long.iter().any(|(path, _)| *path == file.path) {
            let advice = format!(
                "{product} lines without tests, of at most {MAX_PRODUCT_LINES}; \
                 split it by subject"
            );
            findings.push(Finding::new(&file.path, MAX_PRODUCT_LINES + 1, advice));
        }
    }
    for (path, _) in long {
        let found = files.iter().find(|file| file.path == *path);
        if found.is_none_or(|file| file.product_lines().count() <= MAX_PRODUCT_LINES) {
            let advice = "no longer a long file; remove it from the list in tidy/sizes.rs";
            findings.push(Finding::new(path, 0, advice));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    fn with_tests(product: usize, tests: usize) -> SourceFile {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "y\n".repeat(tests - 3));
        file("crates/a/src/b.rs", &format!("{}{tests}", "x\n".repeat(product)))
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(check_with(&[with_tests(500, 300)], &[]), []);
        let found = check_with(&[with_tests(501, 100)], &[]);
        assert!(found.len() == 1 && found[0].advice.starts_with("501 lines without"), "{found:?}");
        let found = check_with(&[with_tests(400, 401)], &[]);
        assert!(found.len() == 1 && found[0].advice.starts_with("801 lines"), "{found:?}");
        let tests = file("crates/a/src/b/tests.rs", &"x\n".repeat(700));
        assert_eq!(check_with(&[tests], &[]), []);
        let tests = file("crates/a/src/b/tests.rs", &"x\n".repeat(801));
        assert_eq!(check_with(&[tests], &[]).len(), 1);
    }

    #[test]
    fn the_list_of_long_files_is_kept_up_to_date() {
        let list = &[("crates/a/src/b.rs", "a table")];
        assert_eq!(check_with(&[with_tests(700, 10)], list), []);
        assert_eq!(
            check_with(&[with_tests(900, 10)], list).len(),
            1,
            "the limit with tests holds for listed files, too"
        );
        let stale = check_with(&[with_tests(10, 10)], list);
        assert!(
            stale.len() == 1 && stale[0].advice.contains("remove it from the list"),
            "{stale:?}"
        );
        assert_eq!(check_with(&[], list).len(), 1, "the file is gone");
    }
}
