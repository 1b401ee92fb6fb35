//! Positions of compiled text, led back to the text that the user wrote.

/// A position of the compiled text and the one of the source it came from. All count from 0. The
/// engine counts the columns of the compiled text in bytes; those of the source are in UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) source_line: u32,
    pub(crate) source_column: u32,
}

/// The mappings of one file, sorted by position of the compiled text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PositionMap {
    mappings: Vec<Mapping>,
    /// Bytes that were put before the first line of a text that is otherwise as it was.
    before: u32,
}

/// A change of the text after the map was made, in bytes of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shift {
    pub(crate) line: u32,
    /// Column from which on text moved, in the text before the change.
    pub(crate) column: u32,
    /// Bytes by which it moved.
    pub(crate) by: i32,
}

impl PositionMap {
    pub(crate) fn new(mut mappings: Vec<Mapping>) -> Self {
        mappings.sort_by_key(|mapping| (mapping.line, mapping.column));
        Self { mappings, before: 0 }
    }

    /// Returns the map of a text that is unchanged but for `before` bytes at its beginning.
    pub(crate) fn behind(before: usize) -> Self {
        Self { mappings: Vec::new(), before: u32::try_from(before).unwrap_or(0) }
    }

    /// Adapts the map to changes of the text. The changes are sorted by position.
    pub(crate) fn shift(&mut self, shifts: &[Shift]) {
        let mut next = 0;
        let mut moved = 0;
        let mut line = u32::MAX;
        for mapping in &mut self.mappings {
            if mapping.line != line {
                (line, moved) = (mapping.line, 0);
            }
            while let Some(shift) = shifts.get(next)
                && (shift.line, shift.column) <= (mapping.line, mapping.column)
            {
                if shift.line == line {
                    moved += shift.by;
                }
                next += 1;
            }
            mapping.column = mapping.column.saturating_add_signed(moved);
        }
    }

    /// Returns the position in the source; all positions count from 1.
    pub(crate) fn original(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let (line, column) = (line.checked_sub(1)?, column.saturating_sub(1));
        if self.mappings.is_empty() {
            let column = if line == 0 { column.saturating_sub(self.before) } else { column };
            return Some((line + 1, column + 1));
        }
        let after = self.mappings.partition_point(|one| (one.line, one.column) <= (line, column));
        let found = self.mappings[..after].last().filter(|one| one.line == line);
        // A position before the first mapping of its line belongs to that one.
        let found = found.or_else(|| self.mappings.get(after).filter(|one| one.line == line))?;
        Some((found.source_line + 1, found.source_column + 1))
    }

    /// Writes the map as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.mappings.len() * 16);
        bytes.extend_from_slice(&self.before.to_le_bytes());
        for mapping in &self.mappings {
            for number in [mapping.line, mapping.column, mapping.source_line, mapping.source_column]
            {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let number = |chunk: &[u8], at: usize| {
            let field = chunk.get(at * 4..at * 4 + 4).and_then(|field| field.try_into().ok());
            field.map_or(0, u32::from_le_bytes)
        };
        let mapping = |chunk: &[u8]| Mapping {
            line: number(chunk, 0),
            column: number(chunk, 1),
            source_line: number(chunk, 2),
            source_column: number(chunk, 3),
        };
        let (before, rest) = bytes.split_at_checked(4).unwrap_or_default();
        let mappings = rest.chunks_exact(16).map(mapping).collect();
        Self { mappings, before: number(before, 0) }
    }
}
