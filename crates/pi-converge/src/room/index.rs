//! The entries of the index of a repository, without the times and numbers that `git status`
//! refreshes. Pure.

/// Bytes of an entry before its flags: times, device, inode, mode, owner, size and object id.
const FIXED: usize = 60;

/// Returns modes, object ids, flags and paths of the entries. An index of another version, or one
/// that is torn, is returned as it is.
pub(super) fn entries(index: Vec<u8>) -> Vec<u8> {
    read(&index).unwrap_or(index)
}

fn read(index: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| {
        let bytes = index.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    if index.get(..4)? != b"DIRC" || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let (count, mut at, mut found) = (number(8)?, 12, Vec::new());
    for _ in 0..count {
        let flags = index.get(at + FIXED..at + FIXED + 2)?;
        let is_extended = flags.first()? & 0x40 != 0;
        let path_at = at + FIXED + if is_extended { 4 } else { 2 };
        let length = index.get(path_at..)?.iter().position(|byte| *byte == 0)?;
        found.extend_from_slice(index.get(at + 24..at + 28)?);
        found.extend_from_slice(index.get(at + 40..path_at + length + 1)?);
        // Entries end with one to eight zeros.
        at += (path_at - at + length + 8) / 8 * 8;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(time: u8, path: &[u8], flags: u8) -> Vec<u8> {
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        let mut entry = vec![time; 24];
        entry.extend([0, 0, 0x81, 0xa4]);
        entry.extend([time; 12]);
        entry.extend([7; 20]);
        entry.extend([flags, path.len() as u8]);
        entry.extend(path);
        entry.resize((entry.len() + 8) / 8 * 8, 0);
        index.extend(entry);
        index.extend([9; 20]);
        index
    }

    #[test]
    fn times_do_not_count_and_paths_and_flags_do() {
        let first = entries(index(1, b"main.py", 0));
        assert_eq!(first, entries(index(2, b"main.py", 0)));
        assert_ne!(first, entries(index(1, b"main.px", 0)));
        assert_ne!(first, entries(index(1, b"main.py", 0x80)));
        for torn in [b"DIRC".to_vec(), b"other".to_vec(), index(1, b"a", 0)[..40].to_vec()] {
            assert_eq!(entries(torn.clone()), torn);
        }
    }
}
