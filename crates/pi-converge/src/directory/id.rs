//! Ids of runs: they sort by time, and their last part is short enough to type.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CONTRACT, DirectoryError};

/// Letters and digits that are hard to confuse.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns a new id: the time in UTC and four random letters.
pub(super) fn new_id() -> String {
    let time = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let (_, random) = uuid::Uuid::new_v4().as_u64_pair();
    let letter = |place: u32| LETTERS[((random >> (5 * place)) & 31) as usize] as char;
    let random: String = (0..4).map(letter).collect();
    format!("{}-{random}", time.strftime("%y%m%d-%H%M%S"))
}

/// Finds the directory of a run.
pub(super) fn find(runs: &Path, reference: &str) -> Result<PathBuf, DirectoryError> {
    let not_found = || DirectoryError::NotFound(reference.to_owned());
    if reference.contains(['/', '\\']) {
        let path = PathBuf::from(reference);
        return if path.join(CONTRACT).is_file() { Ok(path) } else { Err(not_found()) };
    }
    if reference.is_empty() {
        return Err(not_found());
    }
    let ids = ids(runs);
    if ids.iter().any(|id| id == reference) {
        return Ok(runs.join(reference));
    }
    let matching: Vec<String> = ids
        .into_iter()
        .filter(|id| {
            id.starts_with(reference) || id.rsplit('-').next().is_some_and(|end| end == reference)
        })
        .collect();
    match matching.as_slice() {
        [] => Err(not_found()),
        [one] => Ok(runs.join(one)),
        _ => Err(DirectoryError::Ambiguous(reference.to_owned(), matching)),
    }
}

/// Returns the ids of all runs, oldest first.
pub(super) fn ids(runs: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut ids: Vec<String> = entries
        .filter(|entry| entry.path().join(CONTRACT).is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    ids.sort();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_by_a_beginning_or_the_last_part_of_their_id() {
        let runs = tempfile::tempdir().unwrap();
        for id in ["261116-120000-ab3d", "261116-130000-x7yz", "261117-090000-q2w3"] {
            fs::create_dir(runs.path().join(id)).unwrap();
            fs::write(runs.path().join(id).join(CONTRACT), "{}").unwrap();
        }
        // A directory that is no run.
        fs::create_dir(runs.path().join("261118-x")).unwrap();
        let found = |reference: &str| match find(runs.path(), reference) {
            Ok(path) => path.file_name().unwrap().to_str().unwrap().to_owned(),
            Err(error) => error.to_string(),
        };
        let path = runs.path().join("261117-090000-q2w3").display().to_string();
        let cases = [
            ("261116-13", "261116-130000-x7yz"),
            ("q2w3", "261117-090000-q2w3"),
            ("261116-120000-ab3d", "261116-120000-ab3d"),
            (path.as_str(), "261117-090000-q2w3"),
            ("261118", "no run matches \"261118\""),
            ("", "no run matches \"\""),
            ("../x", "no run matches \"../x\""),
            ("261116", "\"261116\" matches 2 runs: 261116-120000-ab3d, 261116-130000-x7yz"),
        ];
        for (reference, expected) in cases {
            assert_eq!(found(reference), expected, "{reference}");
        }
    }

    #[test]
    fn new_ids_sort_by_time() {
        let id = new_id();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [6, 6, 4], "{id}");
    }
}
